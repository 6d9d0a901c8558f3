#pragma once

#include <cmath>

#include "methods/chord/fit.hpp"

namespace matapprox::test {

/// f(x) = 1/2 sum (i + 1) x_i^2 + 1/4 sum x_i^4, minimum 0 at 0; counts its evaluations.
class Bowl {
 public:
  explicit Bowl(Index size) : size_(size) {}
  double evaluate(const double* x, double* gradient) {
    ++evaluations;
    double f = 0;
    for (Index i = 0; i < size_; ++i) {
      const auto a = static_cast<double>(i + 1);
      f += 0.5 * a * x[i] * x[i] + 0.25 * x[i] * x[i] * x[i] * x[i];
      if (gradient != nullptr) gradient[i] = a * x[i] + x[i] * x[i] * x[i];
    }
    return f;
  }
  double value(const Vector& x) { return evaluate(x.data(), nullptr); }
  double value(const MultiVector& x) { return evaluate(x.data(), nullptr); }
  chord_fit::Objective objective() {
    return [this](const double* x, double* g) { return evaluate(x, g); };
  }
  Index evaluations = 0;

 private:
  Index size_;
};

/// f(x) = 1/2 sum 100 (x_{i+1} - x_i^2)^2 + (1 - x_i)^2: a curved valley, in which gradient methods
/// are slow.
inline double rosenbrock(const double* x, double* gradient, Index size) {
  double f = 0;
  if (gradient != nullptr) Eigen::Map<Vector>(gradient, size).setZero();
  for (Index i = 0; i + 1 < size; ++i) {
    const double a = x[i + 1] - x[i] * x[i];
    const double b = 1 - x[i];
    f += 0.5 * (100 * a * a + b * b);
    if (gradient == nullptr) continue;
    gradient[i] += -200 * a * x[i] - b;
    gradient[i + 1] += 100 * a;
  }
  return f;
}

/// Entry i of a vector on the host.
inline double at(const MultiVector& vector, Index i) { return vector.data()[i]; }

/// A monitor of a fit of order 2 (so that the relative error is sqrt f) that publishes nothing.
struct Watched {
  explicit Watched(Index planned)
      : monitor(2, planned, control, [](const chord_fit::FitMonitor&) {
          return Approximation({make_factor("W", Vector(Vector::Zero(1)))}, {});
        }) {}
  RunControl control;
  chord_fit::FitMonitor monitor;
};

}  // namespace matapprox::test
