#include "exact_arithmetic.hpp"

#include <cmath>

namespace matapprox::generate {

namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.693147180559945309417;

/// Sum over k of (-1)^k x^(2k + odd) / (2k + odd)!: the cosine (odd 0) or sine (odd 1) for 0 <= x
/// <= pi/4, where the terms after the twelfth are below double precision.
double alternating_series(double x, int odd) {
  double sum = 0;
  for (int k = 12; k >= 1; --k) {
    const double n = 2 * k + odd;
    sum = (1 + sum) * (-x * x / (n * (n - 1)));
  }
  return (1 + sum) * (odd == 1 ? x : 1);
}

}  // namespace

double exp_minus(double x) {
  // x = k ln 2 + r, 0 <= r < ln 2, and exp(-r) by its series.
  const double k = std::floor(x / kLn2);
  const double r = x - k * kLn2;
  double sum = 0;
  for (int term = 24; term >= 1; --term) sum = (1 + sum) * (-r / term);
  return std::ldexp(1 + sum, -static_cast<int>(k));
}

double cos_of_turn(Index p, Index q) {
  p = (p % q + q) % q;
  if (2 * p > q) p = q - p;                  // cos(2 pi - a) = cos a
  const bool obtuse = 4 * p > q;             // cos(pi - a) = -cos a
  if (obtuse) p = q / 2 - p;                 // now a <= pi/2
  const bool steep = 8 * p > q;              // cos a = sin(pi/2 - a)
  const Index part = steep ? q / 4 - p : p;  // now a <= pi/4
  const double angle = 2 * kPi * static_cast<double>(part) / static_cast<double>(q);
  const double value = alternating_series(angle, steep ? 1 : 0);
  return obtuse ? -value : value;
}

}  // namespace matapprox::generate
