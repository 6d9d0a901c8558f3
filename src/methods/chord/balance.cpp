#include "methods/chord/balance.hpp"

#include <algorithm>
#include <cmath>

namespace matapprox::chord_fit {

void balance(const ChordPattern& pattern, double scale, double* values) {
  const Index M = pattern.factors();
  const auto factor = [&](Index m) {
    return Eigen::Map<Vector>(values + pattern.first_value(m), pattern.order * pattern.links(m));
  };
  Vector norms(M);
  for (Index m = 0; m < M; ++m) norms(m) = factor(m).stableNorm();
  if ((norms.array() == 0).any()) return;

  // All norms become g, g^M = scale times their product. The first factor takes what the others
  // leave of `scale`, so that rounding in g does not change the product.
  const double log_g = (norms.array().log().sum() + std::log(scale)) / static_cast<double>(M);
  double rest = scale;
  for (Index m = 1; m < M; ++m) {
    const double s = std::exp(log_g - std::log(norms(m)));
    factor(m) *= s;
    rest /= s;
  }
  factor(0) *= rest;
}

}  // namespace matapprox::chord_fit
