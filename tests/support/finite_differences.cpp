#include "support/finite_differences.hpp"

#include <algorithm>
#include <cmath>

namespace matapprox::test {

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

}  // namespace matapprox::test
