#pragma once

#include <string>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Entries of an adjacency matrix, collected while reading a file whose length does not determine
/// their number.
class GraphEntries {
 public:
  void add(Index from, Index to, double weight) { entries_.push_back({from, to, weight}); }
  Index size() const { return static_cast<Index>(entries_.size()); }

  /// Returns the matrix of order `order`, with nodes counted from `first`. With `mirrored`, the
  /// mirror image of every entry that is not a loop is added too. Entries at the same position are
  /// added in the order of the calls of add(); sums that are 0 are dropped. Throws NotAvailable if
  /// memory is insufficient.
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
