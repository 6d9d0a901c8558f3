#pragma once

#include <functional>

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// Returns f at x and writes its gradient; both are addresses in one MemorySpace. The value is not
/// finite where f overflows.
using PlacedFunction = std::function<double(const double* x, double* gradient)>;

/// Limited-memory BFGS [NW06, Alg. 7.5] in any memory space: only f, slopes and the products of the
/// stored vectors with two new ones are copied to the host. The line search aims at the strong
/// Wolfe conditions. An exception thrown by the function propagates, and the object cannot be used
/// afterwards.
///
/// Cost of a step besides its evaluations: 12 m flops per number. Memory: 2 m + 6 vectors.
class Lbfgs {
 public:
  /// Evaluates f at a copy of `start`. Up to m = `memory` >= 1 pairs are stored. The first trial
  /// step follows the negative gradient and changes the largest component by `first_change`. If
  /// that is 0, the trial step is the negative gradient itself, shortened to change no component by
  /// more than 1; where the gradient is tiny, as near a saddle, this makes no progress.
  Lbfgs(PlacedFunction function,
        const ConstMultiVectorView& start,
        Index memory,
        double first_change = 0);

  /// Takes one descent step. Returns false if there is none: f or its gradient at the start is not
  /// finite, the point is stationary, or the remaining decrease is lost in rounding.
  bool step();

  ConstMultiVectorView point() const { return column(kPoint); }
  double value() const { return f_; }
  Index evaluations() const { return evaluations_; }

 private:
  /// f and its slope at point + t direction.
  struct LineSearchPoint {
    double t = 0;
    double f = 0;
    double slope = 0;
    bool is_finite() const;
  };
  /// Columns of vectors_. Columns that are multiplied together are adjacent.
  enum Column : Index { kPoint, kTrial, kTrialGradient, kDirection, kGradient, kChange, kColumns };

  MultiVectorView column(Column c) { return vectors_.columns(c, 1); }
  ConstMultiVectorView column(Column c) const { return vectors_.columns(c, 1); }

  void find_direction();
  Vector two_loops() const;
  double first_step() const;
  /// Evaluates f at point + t direction.
  LineSearchPoint at(double t);
  bool search(double t, LineSearchPoint& found);
  bool zoom(LineSearchPoint low, LineSearchPoint high, LineSearchPoint& found);
  bool accept_lowest(const LineSearchPoint& low, LineSearchPoint& found);
  bool armijo_holds(const LineSearchPoint& here) const;
  bool curvature_holds(const LineSearchPoint& here) const;
  void accept(const LineSearchPoint& found);
  void multiply_kept(bool has_new);
  void forget();
  Index by_age(Index age) const;

  PlacedFunction function_;
  Index memory_;
  double first_change_;
  Index evaluations_ = 0;
  MultiVector vectors_;
  MultiVector pairs_;     ///< s_0, y_0, s_1, y_1, ...: a ring buffer of `memory` pairs
  Index kept_ = 0;        ///< number of stored pairs
  Index next_ = 0;        ///< index of the next pair
  Matrix with_changes_;   ///< column j: products of y_j with all stored y and with each s that is
                          ///< not newer
  Vector with_gradient_;  ///< products of the stored vectors with the gradient
  double scaling_ = 1;    ///< s^T y / y^T y of the last pair [NW06, Eq. 7.20]
  double f_ = 0;
  LineSearchPoint start_;  ///< start of the current line search
  Index tried_ = 0;
  double tried_at_ = 0;  ///< t of the trial point
};

}  // namespace matapprox
