#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// Which rows of a tall block lie on which process: neighboring ones, perhaps none.
class Layout {
 public:
  /// Process p has the rows begins[p] .. begins[p + 1] - 1; begins[0] is 0. Throws InvalidArgument
  /// if they descend, NotAvailable for more than 2^31 - 1 rows, which MPI cannot count.
  explicit Layout(std::vector<Index> begins);

  const std::vector<Index>& begins() const { return begins_; }
  Index rows() const { return begins_.back(); }
  Index first(int process) const { return begins_[static_cast<std::size_t>(process)]; }
  Index count(int process) const { return first(process + 1) - first(process); }
  /// The process that has this row.
  int owner(Index row) const;

  friend bool operator==(const Layout& a, const Layout& b) { return a.begins_ == b.begins_; }

 private:
  std::vector<Index> begins_;
};

/// As many rows for each process; the first ones have one more where it does not divide.
Layout even_layout(Index rows, int processes);
/// As much work for each process as whole rows allow; row i takes weights[i] >= 0.
Layout weighted_layout(const std::vector<Index>& weights, int processes);

}  // namespace matapprox::mpi
