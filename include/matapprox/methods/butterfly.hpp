#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

/// Order of the rows or columns in which a matrix is a butterfly.
enum class ButterflyOrder {
  kAuto,      ///< the one that samples of the entries favor
  kNatural,   ///< the first stage joins row i and row i + m/2, or halves the columns in the middle
  kReversed,  ///< it joins rows 2i and 2i + 1, or takes every second column: the bits are reversed
};

template <>
struct EnumNames<ButterflyOrder> {
  static constexpr std::array<std::string_view, 3> values{"auto", "natural", "reversed"};
};

struct ButterflyOptions {
  /// Unset: default_budget. A number or a share counts 8 bytes per number.
  StorageBudget budget = {};
  double frobenius_tolerance = 0;  ///< if positive: the fewest bytes with |A - B|_F <= t |A|_F
  Index block_rank = 0;            ///< rank of the blocks, r; 0: chosen
  ButterflyOrder row_order = ButterflyOrder::kAuto;
  ButterflyOrder col_order = ButterflyOrder::kAuto;
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Approximates A (m x n) by a butterfly B = P^T X_1 X_2 ... X_L C Q, in a few bits per value: P
/// and Q reverse the order of digits of row and column numbers, or are left out, and the X_l and C
/// are Kronecker-sparse factors. A matrix is a butterfly of rank r if all its blocks of m/p
/// consecutive rows and p columns (in these orders) have that rank at most: fast transforms have
/// rank 1 to 4, kernels of waves rank 10 or so, while hierarchical blocks of the latter have no low
/// rank. [LYM+15] [ZRG23]
///
/// Stage l replaces groups of s rows, in each of two halves of the columns, by the r leading left
/// singular vectors of that block; the rest is compressed further, and rows of two groups are
/// joined. Since the halves do not share columns, the squared errors of the stages add up, and the
/// error is at most sqrt(L) times that of the nearest butterfly. The vectors are rounded first, and
/// the rest is fitted to the rounded ones.
///
/// Sizes with other prime divisors than 2 have as many stages as divisors. All different orders of
/// the divisors (at most six), the orders of rows and columns, ranks of 1 to 32, and one to four
/// divisions of the columns in the first stage are compared by the singular values of four blocks
/// of each stage; within a budget, the five plans that promise most are fitted in doubles.
///
/// Stores about 2 r n log2(n / r) numbers for a square matrix of order n = 2^L. Cost: O(m n r)
/// operations for each plan that is fitted; a product takes as many multiplications as there are
/// numbers. Holds two copies of A. Throws InvalidArgument (options, an empty matrix),
/// BudgetTooSmall, NumericalError for NaN or Inf in A, NotAvailable if memory does not suffice,
/// Interrupted.
Approximation butterfly(const LinearOperator& A,
                        const ButterflyOptions& options = {},
                        const RunControl& control = {});

/// Estimate of the relative Frobenius error of butterfly() within that many bytes, from the blocks
/// that it compares ranks by. Plans whose error exceeds `hopeless` are not followed further;
/// infinite if all do. Cost: some 50 ms, mostly for singular values of small blocks. A must be in
/// memory.
double butterfly_error_estimate(const LinearOperator& A,
                                double bytes,
                                double hopeless,
                                std::uint64_t seed);

}  // namespace matapprox
