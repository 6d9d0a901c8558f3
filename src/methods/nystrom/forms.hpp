#pragma once

#include <functional>
#include <string>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/methods/nystrom.hpp"

namespace matapprox {

/// What either form yields.
struct NystromFactors {
  std::vector<Factor> factors;
  std::vector<Index> landmarks{};
  Index rank = 0;
  Index iterations = 1;
  std::string message;
  std::string objection;  ///< why A is not positive semidefinite; then there are no factors
};

using NystromCheckpoint =
    std::function<void(const NystromFactors& so_far, const ResumeState& state)>;

/// C W^+ C^T from k landmarks, kept as C T T^T C^T. `diagonal` is that of A. `checkpoint` as in
/// pivoted_cholesky_landmarks, if these are the landmarks.
NystromFactors psd_nystrom(const LinearOperator& A,
                           const Vector& diagonal,
                           Index k,
                           const NystromOptions& options,
                           const RunControl& control,
                           const NystromCheckpoint& checkpoint);

/// (A X) (Y^T A X)^+ (Y^T A) [Nak20], kept as an orthonormal basis of A X, a k x k core and k rows.
NystromFactors generalized_nystrom(const LinearOperator& A,
                                   Index k,
                                   const NystromOptions& options,
                                   const RunControl& control);

}  // namespace matapprox
