#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// In which rows and columns a matrix is divided into blocks.
enum class BlockOrder { kAuto, kNatural, kPoints, kRcm, kSpectral };

template <>
struct EnumNames<BlockOrder> {
  static constexpr std::array<std::string_view, 5> values{
      "auto", "natural", "points", "rcm", "spectral"};
};

struct HierarchicalOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes for each number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: the fewest bytes with |A - B|_F <= t |A|_F
  BlockOrder order = BlockOrder::kAuto;
  Index leaf = 0;  ///< least side of a block; 0: 32, or 16 below min(m, n) = 300
  /// Bits that a value may have, each of 1..16, 32 or 64.
  std::vector<Index> widths = {3, 4, 6, 8, 12, 16, 32, 64};
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Blocks of a quadtree of A, each dropped, at low rank, dense or sparse, in as many bits per value
/// as it is worth: partition, ranks and bits are chosen together, for the least error within a
/// budget of bytes.
///
/// For a price lambda of a byte, every node of the tree takes what has the least D + lambda R of
/// squared error D and bytes R: nothing; singular triplets, the k-th in b_k bits (R = ((m + n) b_k
/// / 8 + 3), D = sigma_k^2 t(b_k), t(0) = 1, t(b) = 2 nu(b), nu the noise of the quantizer: reverse
/// water-filling); all entries in b bits; what triplets leave of them too; its largest entries in b
/// bits; or its children. lambda is bisected to the budget. As far as the spectra are known and the
/// noise is that of normal values, no other choice of this family has less error at these bytes
/// [CLG89], and none within B bytes has less than max over lambda of (D + lambda R) - lambda B:
/// `message` has this expectation where it is below the error. Blocks whose noise comes out
/// otherwise are chosen again with what was found.
///
/// U of a block is quantized, V fitted to it again by least squares and quantized. What triplets
/// leave may be stored in few bits for each entry; it takes in the noise of the triplets too.
///
/// order: points halves the points of a kernel matrix at the median of their widest coordinate, and
/// each half again; rcm and spectral are those of a graph whose links are the largest entries of
/// each column (as for chord), rows and columns alike; auto is points for kernel matrices, else
/// natural.
///
/// The result is one factor H, a BlockMatrix, or P^T H P with the permutation of an order; of a
/// symmetric A the upper half is stored. Cost: one randomized SVD of each level of the tree, of
/// rank 48 and more where that pays, of blocks whose smaller side is above 128; all singular values
/// of those that are smaller and not decided by their norm alone: O(m n k log n) operations. Holds
/// A, 8 m n bytes, and the tree. But the kernel matrix of many points is never formed (adaptive
/// cross approximation [Beb00]), and a square A of order above 8192 whose columns cost as much as
/// products is peeled [LLY11]: from about 2 (k + 16) log2(n / leaf) products with it, or twice as
/// many where it is not symmetric, k being the rank of its blocks beside the diagonal; n k log n
/// numbers are held. Where that would take more than n / 2 products, A is held after all.
///
/// Throws InvalidArgument, BudgetTooSmall, NumericalError for NaN or Inf in A or where no entry is
/// above 4e-302, NotAvailable where memory is short, Interrupted.
Approximation hierarchical(const LinearOperator& A,
                           const HierarchicalOptions& options = {},
                           const RunControl& control = {});

}  // namespace matapprox
