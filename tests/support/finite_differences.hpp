#pragma once

#include <functional>

#include "matapprox/core/types.hpp"

namespace matapprox::test {

/// Central differences (f(x + h e_i) - f(x - h e_i)) / (2 h), h = step * max(1, |x_i|): good to
/// about 1e-10 relative for a smooth f of moderate size.
Vector finite_difference_gradient(const std::function<double(const Vector&)>& f,
                                  const Vector& x,
                                  double step = 6e-6);

/// Expects that a backward pass is the adjoint of the derivative: that |<u, J v> - <J^T u, v>| is
/// within what truncation and rounding explain. Here f(t) are the values at the place x + t v, so
/// that J v = f'(0), and `pulled` is J^T u as the backward pass gives it at x. All is relative to
/// the sum of the absolute values in <u, J v>, <J^T u, v> and <u, f(0)>, entry by entry.
///
/// f' is a central difference of order 8, of f(-4 h), f(-3 h), .., f(4 h). Of these values E is the
/// sum of the sizes of both seventh differences, over 140 h. Three things can make f' wrong.
///
/// Truncation: where f is analytic and of size M for complex |t| < R, by 576 (h/R)^8 M/R; this is
/// below E, about 72 (h/R)^6 M/R, while h < R/3. A kink in between, of f (a maximum, ReLU) or of f'
/// (ELU, the square of ReLU): wherever it lies, by at most 10.2 E. Rounding: by 2.1 k eps M / h
/// with errors k eps M of the values, and k = 10 is what a hundred random roundings add up to. So
///
///     bound = 11 E + 21 eps / h,
///
/// the least of h = 2^-9, 2^-11, .., 2^-17: near 2.4e-12 at the first, for what is smooth and not
/// too steep, and 6e-10 at the last, which keeps away from kinks. Above 1e-9 too little is known
/// and the test fails: the sample is at a kink, take another one.
void expect_adjoint(const std::function<Vector(double)>& f,
                    const Vector& u,
                    const Vector& v,
                    const Vector& pulled);

}  // namespace matapprox::test
