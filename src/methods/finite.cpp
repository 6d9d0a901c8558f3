#include "methods/finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox {

void require_finite(const ConstBlock& X, const char* method) {
  if (!X.allFinite()) {
    throw NumericalError(
        fmt::format("{}: the matrix holds NaN or Inf, or a product with it overflows", method));
  }
}

double unit_scale(const ConstBlock& X) {
  const double largest = X.size() == 0 ? 0.0 : X.cwiseAbs().maxCoeff();
  if (largest == 0.0) return 1.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

}  // namespace matapprox
