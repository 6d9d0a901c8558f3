#pragma once

#include <functional>

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// f at x and its gradient, both addresses of one MemorySpace; not finite where f overflows.
using PlacedFunction = std::function<double(const double* x, double* gradient)>;

/// Limited-memory BFGS [NW06, Alg. 7.5], wherever the numbers lie: only f, slopes and the products
/// of the kept vectors with two new ones come to the host. The steps meet the strong Wolfe
/// conditions. An exception of the function passes through and leaves nothing to go on with.
///
/// Cost of a step beside its evaluations: 12 m flops a number. Memory: 2 m + 6 vectors.
class Lbfgs {
 public:
  /// At a copy of `start`, where f is evaluated; m = `memory` >= 1 pairs are kept. The first step
  /// that is tried changes the number that changes most by `first_change`, or, if that is 0, by the
  /// gradient, but at most by 1: where the gradient is tiny, as beside a saddle, that goes nowhere.
  Lbfgs(PlacedFunction function,
        const ConstMultiVectorView& start,
        Index memory,
        double first_change = 0);

  /// Goes down by one step. False where there is none: f or its gradient at the start is not
  /// finite, the point is stationary, or what is left to gain is lost in rounding.
  bool step();

  ConstMultiVectorView point() const { return column(kPoint); }
  double value() const { return f_; }
  Index evaluations() const { return evaluations_; }

 private:
  /// The function on the line point + t direction.
  struct LineSearchPoint {
    double t = 0;
    double f = 0;
    double slope = 0;
    bool is_finite() const;
  };
  /// Columns of vectors_; those that are multiplied together lie side by side.
  enum Column : Index { kPoint, kTrial, kTrialGradient, kDirection, kGradient, kChange, kColumns };

  MultiVectorView column(Column c) { return vectors_.columns(c, 1); }
  ConstMultiVectorView column(Column c) const { return vectors_.columns(c, 1); }

  void find_direction();
  Vector two_loops() const;
  double first_step() const;
  /// Tries point + t direction.
  LineSearchPoint at(double t);
  bool search(double t, LineSearchPoint& found);
  bool zoom(LineSearchPoint low, LineSearchPoint high, LineSearchPoint& found);
  bool settle_for(const LineSearchPoint& low, LineSearchPoint& found);
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
  MultiVector pairs_;     ///< s_0, y_0, s_1, y_1, ...: a ring of `memory` pairs
  Index kept_ = 0;        ///< pairs
  Index next_ = 0;        ///< where the next pair goes
  Matrix with_changes_;   ///< column j: the kept vectors times y_j, of those not newer
  Vector with_gradient_;  ///< the kept vectors times the gradient
  double scaling_ = 1;    ///< s^T y / y^T y of the last pair [NW06, Eq. 7.20]
  double f_ = 0;
  LineSearchPoint start_;  ///< of the present search
  Index tried_ = 0;
  double tried_at_ = 0;  ///< where the trial is
};

}  // namespace matapprox
