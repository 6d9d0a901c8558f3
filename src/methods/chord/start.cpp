#include "methods/chord/start.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

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

Vector random_start(const ChordPattern& pattern, std::uint64_t seed, Index start) {
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index i = 0; i < pattern.order; ++i) {
      for (Index k = 0; k < K; ++k) {
        const double mean = K == 1 ? 1.0 : k == 0 ? 0.5 : 0.5 / static_cast<double>(K - 1);
        const double z = random_normal(
            seed, RandomStream::kChordStart, start * pattern.factors() + m, i * K + k);
        W[i * K + k] = mean + 0.1 * z;
      }
    }
  }
  return values;
}

Vector paper_start(const ChordPattern& pattern, std::uint64_t seed, Index start, double unit) {
  constexpr double kSpread = 0.01;
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index e = 0; e < pattern.order * K; ++e) {
      const double u =
          random_uniform(seed, RandomStream::kChordStart, start * pattern.factors() + m, e);
      W[e] = 1 / static_cast<double>(K) + kSpread * u;
    }
  }
  balance(pattern, 1 / unit, values.data());
  return values;
}

Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit) {
  require(given.pattern == pattern,
          "chord: the warm start has another pattern: {} factors of order {} with {} values, "
          "this fit has {} of order {} with {}",
          given.pattern.factors(),
          given.pattern.order,
          given.values.size(),
          pattern.factors(),
          pattern.order,
          pattern.stored_numbers());
  require(static_cast<Index>(given.values.size()) == pattern.stored_numbers(),
          "chord: the warm start has {} values, its pattern {}",
          given.values.size(),
          pattern.stored_numbers());
  Vector values = Eigen::Map<const Vector>(given.values.data(), pattern.stored_numbers());
  require(values.allFinite(), "chord: the warm start has NaN or Inf in it");
  balance(pattern, 1 / unit, values.data());
  return values;
}

}  // namespace matapprox::chord_fit
