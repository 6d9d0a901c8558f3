#include "support/finite_differences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "support/expect_close.hpp"

namespace matapprox::test {
namespace {

/// Weights of f(-4 h), f(-3 h), .. in a derivative of order 8.
constexpr std::array kDerivative{
    1.0 / 280, -4.0 / 105, 1.0 / 5, -4.0 / 5, 0.0, 4.0 / 5, -1.0 / 5, 4.0 / 105, -1.0 / 280};
/// Weights of the seventh difference.
constexpr std::array kSeventh{-1.0, 7.0, -21.0, 35.0, -35.0, 21.0, -7.0, 1.0};

double sum_of_sizes(const Vector& a, const Vector& b) { return a.cwiseProduct(b).cwiseAbs().sum(); }

}  // namespace

Vector finite_difference_gradient(const std::function<double(const Vector&)>& f,
                                  const Vector& x,
                                  double step) {
  Vector gradient(x.size());
  Vector moved = x;
  for (Index i = 0; i < x.size(); ++i) {
    const double h = step * std::max(1.0, std::abs(x(i)));
    moved(i) = x(i) + h;
    const double right = moved(i);
    const double above = f(moved);
    moved(i) = x(i) - h;
    const double below = f(moved);
    gradient(i) = (above - below) / (right - moved(i));
    moved(i) = x(i);
  }
  return gradient;
}

void expect_adjoint(const std::function<Vector(double)>& f,
                    const Vector& u,
                    const Vector& v,
                    const Vector& pulled) {
  const Vector middle = f(0);
  const double right = pulled.dot(v);
  const double size_of_known = sum_of_sizes(pulled, v) + sum_of_sizes(u, middle);
  double defect = 0;
  double bound = std::numeric_limits<double>::infinity();
  for (double step = 0x1p-9; step >= 0x1p-17; step /= 4) {
    Vector slope = Vector::Zero(u.size());
    std::array<Vector, 2> seventh{slope, slope};
    for (std::size_t k = 0; k < kDerivative.size(); ++k) {
      const double place = static_cast<double>(k) - 4;
      const Vector value = (place == 0 ? middle : f(place * step)) / step;
      slope += kDerivative[k] * value;
      if (k < kSeventh.size()) seventh[0] += kSeventh[k] * value;
      if (k > 0) seventh[1] += kSeventh[k - 1] * value;
    }
    const double size = size_of_known + sum_of_sizes(u, slope);
    if (size == 0) return;
    const double roughness = (sum_of_sizes(u, seventh[0]) + sum_of_sizes(u, seventh[1])) / 140;
    const double of_step = 11 * roughness / size + 21 * kEps / step;
    if (of_step >= bound) continue;
    bound = of_step;
    defect = std::abs(u.dot(slope) - right) / size;
  }
  if (bound < 1e-9) {
    EXPECT_LE(defect, bound) << "the backward pass is not the adjoint of the derivative";
  } else {
    ADD_FAILURE() << "the derivative is known to " << bound << " only: a kink, or too steep";
  }
}

}  // namespace matapprox::test
