#pragma once

#include <functional>
#include <string>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/methods/nystrom.hpp"

namespace matapprox {

/// Result of either form.
struct NystromFactors {
  std::vector<Factor> factors;
  std::vector<Index> landmarks{};
  Index rank = 0;
  Index iterations = 1;
  std::string message;
  std::string objection;  ///< reason why A is not positive semidefinite; then there are no factors
};

using NystromCheckpoint =
    std::function<void(const NystromFactors& so_far, const ResumeState& state)>;

/// Computes C W^+ C^T from k landmarks, stored as C T T^T C^T. `diagonal` is that of A.
/// `checkpoint` is called as in pivoted_cholesky_landmarks, if that chooses the landmarks.
NystromFactors psd_nystrom(const LinearOperator& A,
                           const Vector& diagonal,
                           Index k,
                           const NystromOptions& options,
                           const RunControl& control,
                           const NystromCheckpoint& checkpoint);

/// Computes (A X) (Y^T A X)^+ (Y^T A) [Nak20], stored as an orthonormal basis of A X, a k x k core
/// and k rows.
NystromFactors generalized_nystrom(const LinearOperator& A,
                                   Index k,
                                   const NystromOptions& options,
                                   const RunControl& control);

}  // namespace matapprox
