#pragma once

#include <functional>

#include "matapprox/core/types.hpp"

namespace matapprox::test {

/// Central differences (f(x + h e_i) - f(x - h e_i)) / (2 h), h = step * max(1, |x_i|): accurate to
/// about 1e-10 relative for a smooth f of moderate size.
Vector finite_difference_gradient(const std::function<double(const Vector&)>& f,
                                  const Vector& x,
                                  double step = 6e-6);

/// Expects that a backward pass is the adjoint of the derivative: that |<u, J v> - <J^T u, v>| is
/// explained by truncation and rounding. f(t) are the values at the point x + t v, so that
/// J v = f'(0), and `pulled` is J^T u as computed by the backward pass at x. All errors are
/// relative to the sum of the absolute values in <u, J v>, <J^T u, v> and <u, f(0)>, entry by
/// entry.
///
/// f' is a central difference of order 8, of f(-4 h), f(-3 h), .., f(4 h). E is the sum of the
/// magnitudes of both seventh differences of these values, over 140 h. f' has three sources of
/// error.
///
/// Truncation: if f is analytic and of size M for complex |t| < R, at most 576 (h/R)^8 M/R; this is
/// below E, about 72 (h/R)^6 M/R, while h < R/3. A kink of f (a maximum, ReLU) or of f' (ELU, the
/// square of ReLU) between the points: at most 10.2 E, wherever it is. Rounding: at most
/// 2.1 k eps M / h for errors k eps M of the values; a hundred random roundings add up to k = 10.
/// The bound is therefore
///
///     11 E + 21 eps / h,
///
/// minimized over h = 2^-9, 2^-11, .., 2^-17: near 2.4e-12 at the first for smooth functions that
/// are not too steep, and 6e-10 at the last, which avoids kinks. If the bound exceeds 1e-9, the
/// derivative is too inaccurate and the test fails: the sample is at a kink, use another one.
void expect_adjoint(const std::function<Vector(double)>& f,
                    const Vector& u,
                    const Vector& v,
                    const Vector& pulled);

}  // namespace matapprox::test
