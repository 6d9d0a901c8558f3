#pragma once

#include "mpi/layout.hpp"
#include "mpi/spread_matrix.hpp"
#include "operators/kernel_tile.hpp"

namespace matapprox::mpi {

/// Rows of a kernel matrix, whose entries are computed as a product needs them. A process has the
/// points of its rows alone; those of the others, and their rows of X, come by in panels. Memory:
/// its points, and a panel of about a megabyte.
class KernelRows final : public SpreadMatrix {
 public:
  /// `points`: this process's, one a row; of the cosine kernel, scaled to length 1.
  KernelRows(const TileKernel& kernel, const Layout& layout, Matrix points)
      : kernel_(kernel), layout_(layout), points_(std::move(points)) {}

  /// With a layout of whole tiles the bits of KernelOperator on one process. Panels come to all
  /// processes in the order of their rows, not in a ring, since sums would begin elsewhere on each
  /// process then.
  void multiply(const Process& process,
                bool transposed,
                const ConstMultiVectorView& X,
                const MultiVectorView& Y) const override;

 private:
  TileKernel kernel_;
  Layout layout_;
  Matrix points_;
};

/// As many whole tiles for each process; the last one may be cut off.
Layout layout_by_tiles(Index points, Index dimension, int processes);

}  // namespace matapprox::mpi
