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

/// Order of rows and columns in which a matrix is divided into blocks.
enum class BlockOrder { kAuto, kNatural, kPoints, kRcm, kSpectral };

template <>
struct EnumNames<BlockOrder> {
  static constexpr std::array<std::string_view, 5> values{
      "auto", "natural", "points", "rcm", "spectral"};
};

struct HierarchicalOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes per number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: fewest bytes with |A - B|_F <= t |A|_F
  BlockOrder order = BlockOrder::kAuto;
  Index leaf = 0;  ///< smallest side of a block; 0: 32, or 16 if min(m, n) < 300
  /// Allowed bits per value, each of 1..16, 32 or 64.
  std::vector<Index> widths = {3, 4, 6, 8, 12, 16, 32, 64};
  /// Entries that stand out from a matrix of low rank, or the diagonal, are stored by themselves.
  bool outliers = false;
  /// A Toeplitz or Hankel matrix, of blocks perhaps, is stored by itself.
  bool toeplitz = false;
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Approximates A by blocks of a quadtree, each dropped, at low rank, dense or sparse, with its own
/// number of bits per value. Partition, ranks and bits are chosen together, for the least error
/// within a budget of bytes.
///
/// For a price lambda per byte, every node of the tree gets the alternative with the least D +
/// lambda R, where D is the squared error and R the bytes: nothing; singular triplets, the k-th in
/// b_k bits (R = ((m + n) b_k / 8 + 3), D = sigma_k^2 t(b_k), t(0) = 1, t(b) = 2 nu(b), nu the
/// noise of the quantizer: reverse water-filling); all entries in b bits; triplets and all entries
/// of their residual; its largest entries in b bits; or its children. lambda is bisected to the
/// budget. As far as the spectra are known and the noise is that of normal values, no other choice
/// of this family has less error at these bytes [CLG89], and none within B bytes has less than max
/// over lambda of (D + lambda R) - lambda B; `message` has this bound if it is below the error.
/// Blocks whose actual noise differs are chosen again with the actual noise.
///
/// U of a block is quantized; V is refitted to it by least squares and quantized. The residual of
/// triplets may be stored in few bits per entry; it then includes the quantization error of the
/// triplets.
///
/// order: points halves the points of a kernel matrix at the median of their widest coordinate,
/// recursively; rcm and spectral are those of a graph whose links are the largest entries of each
/// column (as for chord), the same for rows and columns; auto is points for kernel matrices, else
/// natural.
///
/// outliers: A = R + S. Alternating projections [NNSAJ14] fit ranks 1, 2, 4, ..., 32 to A without
/// the entries that stand out from that fit, or without the diagonal (of a square A that is much
/// nearer to low rank then, such as a covariance matrix of a few factors and independent noise); of
/// these fits, the one whose R, at low rank, and whose outliers S are expected to take the fewest
/// bytes or to have the least error decides. R is then divided into blocks, in natural order, and S
/// is a layer of one sparse leaf. Cost: about 30 randomized SVDs; 24 m n bytes and 16 for each
/// outlier. Without outliers, if they are above 10 % of the entries, or if no such sum is found
/// within the budget or the tolerance, the result is that of outliers = false.
///
/// toeplitz: A = T + R, where T is a ToeplitzMatrix on one or two levels: the medians of the
/// entries that share a value, if at most 10 % of the entries then differ; else alternating
/// projections, where T has the medians of A - L and L is the truncated SVD of A - T, of rank 1, 2,
/// 4, 8 and 16. Its diagonals are those of A or of blocks, whichever promise the least error by a
/// part of A of at most 128 x 128 entries. R is divided into blocks in natural order, also for
/// kernels; the result is T or the SumMatrix of T and the blocks. T is stored in any case, so that
/// a coarse tolerance may take fewer bytes without it. Cost: up to 30 rounds for each rank r, of
/// four products of A with r + 8 vectors and the medians; 36 m n bytes. If entries that share a
/// value are not alike, or T does not fit into the budget, the result is that of toeplitz = false.
///
/// The result is one factor H, a BlockMatrix, or P^T H P with the permutation of an order; for a
/// symmetric A the upper half is stored. Cost: one randomized SVD per level of the tree, of rank 48
/// and more if worthwhile, for blocks whose smaller side is above 128, and all singular values of
/// smaller blocks that are not decided by their norm alone: O(m n k log n) operations. Holds A, 8 m
/// n bytes, the tree, and bases of the blocks of more than 512 rows and columns that are searched,
/// at most about 12 m n bytes. There are two exceptions. The kernel matrix of many points is never
/// formed (adaptive cross approximation [Beb00]). A square A of order above 8192 whose columns cost
/// as much as products is peeled [LLY11], from about 2 (k + 16) log2(n / leaf) products with it, or
/// twice as many if it is not symmetric, k being the rank of its off-diagonal blocks; n k log n
/// numbers are held. If that would take more than n / 2 products, A is held after all.
///
/// Throws InvalidArgument, BudgetTooSmall, NumericalError for NaN or Inf in A or if no entry is
/// above 4e-302, NotAvailable if memory does not suffice, Interrupted.
Approximation hierarchical(const LinearOperator& A,
                           const HierarchicalOptions& options = {},
                           const RunControl& control = {});

/// Expected error of hierarchical() with order natural over that with order spectral, in as many
/// bytes; if `bytes` is infinite, the ratio of the bytes in which they are expected to reach the
/// relative Frobenius error `tolerance`. It is the ratio for every k-th row and column of a square
/// A, 256 to 1024 of them, with 1 / k of the bytes. Cost: two fits to the sample. Throws like
/// hierarchical().
double spectral_order_gain(const LinearOperator& A,
                           double bytes,
                           double tolerance,
                           std::uint64_t seed,
                           const RunControl& control = {});

/// Estimate of the relative Frobenius error of hierarchical() with outliers within that many bytes,
/// from a sample of at most 128 x 128 entries: that of its R at low rank and of its S; 1 if nothing
/// stands out. A must be in memory. Cost: some 10 ms.
double outlier_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed);

/// Estimate of the relative Frobenius error of hierarchical() with a Toeplitz matrix within that
/// many bytes, from a sample of at most 128 x 128 entries: that of its R at low rank, or coded as
/// numbers most of which are zero. Infinite if the diagonals of A are not alike, or if A is not a
/// dense matrix in memory. Cost: some 10 ms.
double toeplitz_rest_error_estimate(const LinearOperator& A, double bytes, std::uint64_t seed);

}  // namespace matapprox
