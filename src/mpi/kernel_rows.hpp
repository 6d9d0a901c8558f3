#pragma once

#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox::mpi {

/// Rows of a kernel matrix whose entries are computed during each product. A process stores only
/// the points of its rows; it receives the points of the others, and their rows of X, in panels.
/// Memory: its points, and a panel of about a megabyte.
class KernelRows final : public SpreadMatrix {
 public:
  /// `points`: this process's points, one per row; scaled to length 1 for the cosine kernel.
  KernelRows(const TileKernel& kernel, const Layout& layout, Matrix points)
      : kernel_(kernel), layout_(layout), points_(std::move(points)) {}

  /// Bit-identical to KernelOperator on one process if the layout has whole tiles. All processes
  /// receive the panels in row order. In a ring exchange, the sums would begin with a different
  /// panel on each process.
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  TileKernel kernel_;
  Layout layout_;
  Matrix points_;
};

/// Distributes whole tiles evenly over the processes; the last tile may be incomplete.
Layout layout_by_tiles(Index points, Index dimension, int processes);

}  // namespace matapprox::mpi
