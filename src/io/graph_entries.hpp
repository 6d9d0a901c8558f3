#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// The entries of an adjacency matrix, collected while a file is read whose length does not tell
/// how many there are.
class GraphEntries {
 public:
  void add(Index from, Index to, double weight) { entries_.push_back({from, to, weight}); }
  Index size() const { return static_cast<Index>(entries_.size()); }

  /// The matrix of order `order`, nodes counted from `first`; with `mirrored`, the opposite of
  /// every entry that is not a loop is added too. Entries of the same place are added in the order
  /// in which they came, sums that are 0 are dropped. Throws NotAvailable if memory does not
  /// suffice.
  SparseMatrix assemble(Index order, Index first, bool mirrored, const std::string& name) const;

 private:
  struct Entry {
    Index from;
    Index to;
    double weight;
  };
  std::vector<Entry> entries_;
};

}  // namespace matapprox
