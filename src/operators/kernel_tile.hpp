#pragma once

#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/operators/kernel.hpp"

namespace matapprox {

/// Term summed over the d coordinates of two points before the kernel function is applied.
enum class Accumulation { kSquaredDifference, kAbsoluteDifference, kProduct };

/// The kernel as a function of that sum s.
struct TileKernel {
  KernelFunction function = KernelFunction::kGaussian;
  double scale = 1;  ///< Gaussian -1/(2h^2), Laplacian -1/h, Matern 3/h^2 or 5/h^2, polynomial 1/d
  double offset = 0;
  Index degree = 1;
  Accumulation accumulation() const;
};

/// Returns the kernel of these options, whose bandwidth is known, for points in `dimension`
/// dimensions.
TileKernel tile_kernel(const KernelOptions& options, Index dimension);

/// Returns the rows of `points` scaled to length 1; a zero row stays zero. The cosine kernel is
/// computed from these.
Matrix unit_directions(const Matrix& points);

/// Points row .. row+count-1 of an N x d matrix, in the order in which the inner loop reads them:
/// groups of as many points as it handles at once, coordinate by coordinate. Packed once and used
/// against many columns.
struct PackedPoints {
  Index count = 0;
  Index dimension = 0;
  std::vector<double> values;
};
PackedPoints pack_points(const Matrix& points, Index row, Index count);

/// out(r, c) = sum over the coordinates of packed point r and point c of `others` (d x columns, one
/// point per column). Every entry is summed in the order of the coordinates; exchanging the points
/// gives the same bits. Uses one thread.
void accumulate_tile(Accumulation accumulation,
                     const PackedPoints& points,
                     const ConstBlock& others,
                     Block out);

/// Applies the kernel function to sums, in place. Uses one thread and the SIMD instructions of this
/// CPU. Every entry has the same bits wherever it is in the block.
void transform_tile(const TileKernel& kernel, Block sums);

/// Number of rows that a product with a kernel matrix handles at a time: whole groups of points, as
/// many as keep the packed points in the second-level cache. Does not depend on the number of
/// threads.
Index kernel_tile_rows(Index dimension);

/// Consecutive points from number `first` on, one per row or one per column.
struct KernelPoints {
  const Matrix& points;
  Index first = 0;
};

/// Computes Y += K(I, J) X, or Y = K(I, J) X if J begins at 0. This is the part of a product with a
/// kernel matrix that belongs to the points I (one per row of `rows`) and J (one per column of
/// `columns`). Points of the cosine kernel have length 1 or 0. All parts in the order of J give Y
/// the bits of the whole product if J begins at multiples of 128 and I at multiples of
/// kernel_tile_rows().
void add_kernel_product(const TileKernel& kernel,
                        const KernelPoints& rows,
                        const KernelPoints& columns,
                        const ConstBlock& X,
                        Block Y);

}  // namespace matapprox
