#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

struct JlProjectionOptions {
  Index rank = 0;             ///< k rows of R, 1..n; 0: the largest that fits the budget
  StorageBudget budget = {};  ///< unset: default_budget
  ProjectionKind kind = ProjectionKind::kGaussian;
  std::uint64_t seed = 1;
  void visit(OptionVisitor& v);
};

/// Johnson-Lindenstrauss projection A ~ (A R^T) R with E[R^T R] = I: unbiased, one pass over A,
/// relative error about sqrt(n / k). It is included for comparison and does not compete with the
/// SVD. [JL84, Ach03]
///
/// Stores m k numbers; R is regenerated from its seed. A may be rectangular. Throws InvalidArgument
/// (rank), BudgetTooSmall, Interrupted.
Approximation jl_projection(const LinearOperator& A,
                            const JlProjectionOptions& options = {},
                            const RunControl& control = {});

/// Returns the smallest k that keeps all distances among `points` points within 1 +- epsilon with
/// positive probability: ceil(4 ln(points) / (epsilon^2/2 - epsilon^3/3)) [DG03, Thm. 2.1]. Throws
/// InvalidArgument unless points >= 2 and 0 < epsilon < 1.
Index jl_dimension(Index points, double epsilon);
/// Returns the dimension that Linformer requires to approximate attention among n tokens: ceil(5 ln
/// n / (epsilon^2 - epsilon^3)) [WLK+20, Thm. 2], which is smallest at epsilon = 2/3: 33.75 ln n.
/// Throws InvalidArgument unless n >= 2 and 0 < epsilon < 1.
Index linformer_dimension(Index n, double epsilon);

}  // namespace matapprox
