#pragma once

#include <functional>

#include "matapprox/core/types.hpp"

namespace matapprox::test {

/// Central differences (f(x + h e_i) - f(x - h e_i)) / (2 h), h = step * max(1, |x_i|): good to
/// about 1e-10 relative for a smooth f of moderate size.
Vector finite_difference_gradient(const std::function<double(const Vector&)>& f,
                                  const Vector& x,
                                  double step = 6e-6);

}  // namespace matapprox::test
