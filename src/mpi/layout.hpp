#pragma once

#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::mpi {

/// The distribution of the rows of a tall block over the processes: each process has a contiguous
/// range of rows, possibly empty. The values of a Chord chain are the rows of one factor after the
/// other; each process has a contiguous range of rows of each factor.
class Layout {
 public:
  /// Process p has the rows begins[p] .. begins[p + 1] - 1; begins[0] is 0. Throws InvalidArgument
  /// if they descend, NotAvailable for more than 2^31 - 1 rows, which MPI cannot count.
  explicit Layout(std::vector<Index> begins);
  /// The block is a sequence of stretches, one for each of `widths`. In stretch s, each row counted
  /// by `begins` stands for widths[s] rows of the block.
  Layout(std::vector<Index> begins, std::vector<Index> widths);

  const std::vector<Index>& begins() const { return begins_; }
  const std::vector<Index>& widths() const { return widths_; }
  Index rows() const { return begins_.back() * width_; }
  Index count(int process) const { return (begin(process + 1) - begin(process)) * width_; }

  // For blocks with one stretch of width 1 only.
  Index first(int process) const { return begin(process); }
  /// Returns the process that has this row.
  int owner(Index row) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Index begin(int process) const { return begins_[static_cast<std::size_t>(process)]; }

  std::vector<Index> begins_;
  std::vector<Index> widths_;
  Index width_;  ///< sum of the widths
};

/// Distributes the rows evenly; the first processes have one more if there is a remainder.
Layout even_layout(Index rows, int processes);
/// Distributes the work as evenly as whole rows allow; row i takes weights[i] >= 0.
Layout weighted_layout(const std::vector<Index>& weights, int processes);

}  // namespace matapprox::mpi
