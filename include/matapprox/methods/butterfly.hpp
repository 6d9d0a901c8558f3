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
  kNatural,   ///< groups of rows are rows at equal distances; groups of columns are consecutive
  kReversed,  ///< groups of rows are consecutive; groups of columns are columns at equal distances
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

/// Approximates A (m x n) by a butterfly B = P^T X_1 X_2 ... X_L C Q, in a few bits per value. P
/// and Q reverse the order of the digits of row and column numbers, or are left out; the X_l and C
/// are Kronecker-sparse factors. B has rank r if each of its blocks of about f n entries (f m/p
/// rows, p columns) has rank r at most, for a number f that is also chosen. Hadamard matrices have
/// r = 1 for f = 1, the real part of a Fourier transform has r = 2; kernels of waves have r = 10 or
/// so, where the blocks of `hierarchical` have no low rank. [LYM+15] [ZRG23]
///
/// Stage l splits the columns, and replaces each group of s rows in each part of the columns by the
/// r leading left singular vectors of that block. Then rows of several groups are joined. Without
/// rounding, the error is at most sqrt(L) times that of the nearest matrix whose blocks at these
/// stages have rank r: the parts share no columns, so squared errors of the stages add up, and none
/// exceeds the squared distance to that matrix. Each stage is rounded before the next one is
/// computed from the rounded vectors, which makes up for part of the rounding.
///
/// A size with prime divisors other than 2 has one stage for each divisor, up to 128; a larger one
/// ends the stages. At most six orders of the divisors are compared (the first in lexicographic
/// order), the orders of rows and columns, ranks of 1 to 32, and one to four divisors in the first
/// split, by the singular values of four blocks of each stage. Within a budget, the five plans that
/// promise most are fitted in doubles; with a tolerance, up to ten until one reaches it. A itself,
/// in as few bits as do, is one of the plans: a matrix that is no butterfly has no stages.
///
/// Stores about 2 r n log2(n / r) numbers for a square matrix of order n = 2^L and f = r. Cost:
/// O(m n (r + d)) operations for each plan that is fitted, d the largest divisor; a product takes
/// as many multiplications as there are numbers. Holds two copies of A. Throws InvalidArgument
/// (options, an empty matrix), BudgetTooSmall, NumericalError for NaN or Inf in A, NotAvailable if
/// memory does not suffice, Interrupted.
Approximation butterfly(const LinearOperator& A,
                        const ButterflyOptions& options = {},
                        const RunControl& control = {});

/// Estimates the relative Frobenius error of butterfly() within `bytes` from the sampled blocks by
/// which it ranks plans. Drops a plan as soon as its estimate exceeds `hopeless`; returns infinity
/// if no plan remains. Throws NumericalError for NaN or Inf, and copies A if it is not a dense
/// matrix in memory.
double butterfly_error_estimate(const LinearOperator& A,
                                double bytes,
                                double hopeless,
                                std::uint64_t seed);

}  // namespace matapprox
