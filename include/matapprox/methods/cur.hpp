#pragma once

#include <array>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class CurSampling { kPivotedQr, kDeim, kLeverage, kNorms, kUniform };

template <>
struct EnumNames<CurSampling> {
  static constexpr std::array<std::string_view, 5> values{
      "pivoted_qr", "deim", "leverage", "norms", "uniform"};
};

struct CurOptions {
  Index rank = 0;  ///< k columns and k rows, 1..min(m,n); 0: the largest that fits the budget
  StorageBudget budget = {};  ///< unset: default_budget
  CurSampling sampling = CurSampling::kPivotedQr;
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// CUR decomposition A ~ C U R from k columns C = A(:,J) and k rows R = A(I,:), with U = C^+ A R^+,
/// the best in the Frobenius norm for these C and R. [MD09]
///
/// Columns and rows are chosen by column-pivoted QR of a sketch, DEIM on singular vectors [SE16],
/// leverage scores, norms, or uniformly. C and R stay sparse if at least half of their entries are
/// 0, and then store only their nonzeros. Stores nnz(C) + nnz(R) + k^2. If columns or rows are so
/// nearly dependent that a single U would lose digits in every product, U is stored as U1 U2 U3, at
/// most 3 k^2 numbers; if the budget has no room for these, there are fewer columns and rows. U is
/// fitted to C and R as stored in control.stored_precision. A may be rectangular. Cost: a sketch (2
/// passes), one pass for U, k columns and k rows of A, O((m + n) k^2). Throws InvalidArgument
/// (rank), BudgetTooSmall, NumericalError for NaN or Inf, Interrupted.
Approximation cur(const LinearOperator& A,
                  const CurOptions& options = {},
                  const RunControl& control = {});

}  // namespace matapprox
