#include "methods/finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

[[noreturn]] void throw_not_finite(const char* method) {
  throw NumericalError(
      fmt::format("{}: the matrix holds NaN or Inf, or a product with it overflows", method));
}

double unit_scale_of(double largest) {
  if (largest == 0.0) return 1.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

}  // namespace

void require_finite(const ConstBlock& X, const char* method) {
  if (!X.allFinite()) throw_not_finite(method);
}

double unit_scale(const ConstBlock& X) {
  return unit_scale_of(X.size() == 0 ? 0.0 : X.cwiseAbs().maxCoeff());
}

double finite_unit_scale(const TallBlock& X, const char* method) {
  const double largest = X.place()->largest(X.data(), X.size());
  if (!std::isfinite(largest)) throw_not_finite(method);
  return unit_scale_of(largest);
}

}  // namespace matapprox
