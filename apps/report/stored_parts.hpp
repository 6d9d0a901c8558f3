#pragma once

#include <array>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "report/heat_map.hpp"

namespace matapprox::report {

// Distribution of the bits of an approximation: over the blocks of a block matrix, and over the
// components of low rank.

/// The block matrix among the factors, and the permutation of rows and columns around it; null if
/// there is none.
const BlockMatrix* blocks_of(const FactorProduct& B);
const Permutation* order_of(const FactorProduct& B);

/// A block matrix as an image of at most `side` pixels per side.
struct Partition {
  Matrix bits;        ///< stored bits per entry of the blocks that cover each pixel
  CellMarks borders;  ///< borders of leaves that are large enough to be drawn
  /// Number of leaves and their bytes, by LeafKind.
  std::array<Index, 3> leaves{};
  std::array<Index, 3> bytes{};
};
/// The bits of a leaf are spread over the entries that it represents, including the mirror image of
/// a leaf of a symmetric matrix. Cost: the leaves, and the pixels that they cover.
Partition partition_of(const BlockMatrix& blocks, Index side = 1024);
/// Scale from 0 up; colors follow asinh if blocks differ much.
ColorScale bits_scale(const Partition& partition);

/// A component s u v^T: its Frobenius norm, and the bits of each of its values.
struct StoredComponent {
  double size = 0;
  int bits = 0;
};
/// All components that are stored in a few bits, the largest first: those of a packed product of
/// low rank, or of all low-rank leaves of a block matrix. A component with a mirror image includes
/// it. Empty for other approximations.
std::vector<StoredComponent> stored_components(const FactorProduct& B);

/// Cells of A with rows and columns in the order of its blocks: A(i, j) with i and j from
/// P.sources().
Matrix ordered_cells(const LinearOperator& A, const Permutation& P, const ImagePlan& plan);

}  // namespace matapprox::report
