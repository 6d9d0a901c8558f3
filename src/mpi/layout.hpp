#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// Which rows of a tall block lie on which process: neighboring ones, perhaps none. Of the values
/// of a Chord chain, which are rows of one factor after the other, neighboring ones of each factor.
class Layout {
 public:
  /// Process p has the rows begins[p] .. begins[p + 1] - 1; begins[0] is 0. Throws InvalidArgument
  /// if they descend, NotAvailable for more than 2^31 - 1 rows, which MPI cannot count.
  explicit Layout(std::vector<Index> begins);
  /// The block has a stretch for each of `widths`, one after the other, in which widths[s] rows
  /// stand for each of those that `begins` deals.
  Layout(std::vector<Index> begins, std::vector<Index> widths);

  const std::vector<Index>& begins() const { return begins_; }
  const std::vector<Index>& widths() const { return widths_; }
  Index rows() const { return begins_.back() * width_; }
  Index count(int process) const { return (begin(process + 1) - begin(process)) * width_; }

  // Of a block that is one stretch of width 1.
  Index first(int process) const { return begin(process); }
  /// The process that has this row.
  int owner(Index row) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Index begin(int process) const { return begins_[static_cast<std::size_t>(process)]; }

  std::vector<Index> begins_;
  std::vector<Index> widths_;
  Index width_;  ///< the sum of the widths
};

/// As many rows for each process; the first ones have one more where it does not divide.
Layout even_layout(Index rows, int processes);
/// As much work for each process as whole rows allow; row i takes weights[i] >= 0.
Layout weighted_layout(const std::vector<Index>& weights, int processes);

}  // namespace matapprox::mpi
