#include "core/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "matapprox/core/types.hpp"

namespace matapprox {
namespace {

constexpr double kDoubleRounding = std::numeric_limits<double>::epsilon();

/// log Gamma(a + 1) - (a log a - a + log(2 pi a) / 2), the correction of Stirling's formula. Uses
/// its asymptotic series for a >= 10 and Gamma(a + 2) = (a + 1) Gamma(a + 1) below. The C library's
/// lgamma differs between systems and may write a global variable.
double stirling_correction(double a) {
  double correction = 0;
  while (a < 10) {
    correction += (a + 0.5) * std::log1p(1 / a) - 1;
    a += 1;
  }
  const double t = 1 / (a * a);
  return correction + (1 - t * (1.0 / 30 - t * (1.0 / 105 - t * (1.0 / 140 - t / 99)))) / (12 * a);
}

/// log of x^a e^-x / Gamma(a + 1) for x = a e^y, in a form that loses no digits near x = a, where
/// large terms cancel.
double log_density(double a, double y) {
  const double excess = std::expm1(y) - y;  // x / a - 1 - log(x / a)
  return -a * excess - 0.5 * std::log(2 * std::numbers::pi * a) - stirling_correction(a);
}

/// P(a, x) Gamma(a + 1) / (x^a e^-x) = sum over k of x^k / ((a + 1) ... (a + k)), Abramowitz and
/// Stegun 6.5.29.
double lower_series(double a, double x) {
  double term = 1;
  double sum = 1;
  for (Index k = 1; term > 0.1 * kDoubleRounding * sum; ++k) {
    term *= x / (a + static_cast<double>(k));
    sum += term;
  }
  return sum;
}

/// (1 - P(a, x)) Gamma(a + 1) / (x^a e^-x) for x > a + 1, by the continued fraction of Abramowitz
/// and Stegun 6.5.31, evaluated front to back by the method of Lentz.
double upper_fraction(double a, double x) {
  double b = x + 1 - a;
  double c = 1 / std::numeric_limits<double>::min();
  double d = 1 / b;
  double value = d;
  for (Index step = 1; step < 1'000'000; ++step) {
    const auto k = static_cast<double>(step);
    const double numerator = -k * (k - a);
    b += 2;
    d = 1 / (numerator * d + b);
    c = b + numerator / c;
    const double factor = c * d;
    value *= factor;
    if (std::abs(factor - 1) <= kDoubleRounding) break;
  }
  return a * value;
}

/// log P(a, a e^y), P the regularized incomplete gamma function, and its derivative in y.
struct LogProbability {
  double value = 0;
  double slope = 0;
};

LogProbability log_probability(double a, double y) {
  const double x = a * std::exp(y);
  const double density = log_density(a, y);
  const double value = x <= a + 1 ? density + std::log(lower_series(a, x))
                                  : std::log1p(-std::exp(density) * upper_fraction(a, x));
  return {value, a * std::exp(density - value)};
}

}  // namespace

double chi_square_quantile(double degrees, double probability) {
  // The variable is twice a gamma variable X = a e^Y of shape a. The density of Y is log-concave,
  // and so is P: from its first step on, Newton's method is left of the solution and increases
  // towards it.
  const double a = degrees / 2;
  const double target = std::log(probability);
  double y = 0;
  for (int step = 0; step < 200; ++step) {
    const LogProbability at = log_probability(a, y);
    const double change = (target - at.value) / at.slope;
    y += change;
    if (std::abs(change) <= 4 * kDoubleRounding * std::max(1.0, std::abs(y))) break;
  }
  return degrees * std::exp(y);
}

}  // namespace matapprox
