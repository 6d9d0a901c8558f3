#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::report {

/// Singular values, descending.
struct Spectrum {
  Vector values;
  bool is_complete = false;
  std::string how;  ///< source, "all 306, by LAPACK"; or the reason why there are none
};

/// All min(m, n) singular values, by LAPACK, up to 2048; above, those that a truncated SVD has
/// already found (`known`), else the leading 100 by truncated_svd within max_seconds.
Spectrum spectrum_of(const LinearOperator& A,
                     const Vector& known,
                     double max_seconds,
                     const RunControl& control);

}  // namespace matapprox::report
