#include "methods/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace matapprox {
namespace {

constexpr double kSufficientFall = 1e-4;
/// Curvature constant of the Wolfe conditions. 0.9 is usual [NW06, Sec. 3.1]; on Table 1 of the
/// Chord paper 0.5 reaches lower values with the same work.
constexpr double kMaxSlope = 0.5;
constexpr Index kMaxTrials = 25;
constexpr double kMinGrowth = 2;
constexpr double kMaxGrowth = 10;
/// Least distance of a trial step from the ends of its bracket, relative to its width.
constexpr double kBracketMargin = 0.1;

double scalar_product(const ConstMultiVectorView& a, const ConstMultiVectorView& b) {
  return transpose_product(a, b)(0, 0);
}

/// Y += alpha X
void add_multiple(double alpha, const ConstMultiVectorView& X, const MultiVectorView& Y) {
  add_product(1, X, Matrix::Constant(1, 1, alpha), 1, Y);
}

void scale_vector(const MultiVectorView& X, double factor) {
  X.space->scale(X.data, X.rows * X.cols, factor);
}

/// Returns the minimizer of the cubic through two points with these values and slopes [NW06,
/// Eq. 3.59]; NaN if there is none.
template <class Point>
double cubic_minimum(const Point& a, const Point& b) {
  const double d1 = a.slope + b.slope - 3 * (a.f - b.f) / (a.t - b.t);
  const double d2 = std::copysign(std::sqrt(d1 * d1 - a.slope * b.slope), b.t - a.t);
  return b.t - (b.t - a.t) * (b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2);
}

}  // namespace

bool Lbfgs::LineSearchPoint::is_finite() const { return std::isfinite(f) && std::isfinite(slope); }

Lbfgs::Lbfgs(PlacedFunction function,
             const ConstMultiVectorView& start,
             Index memory,
             double first_change)
    : function_(std::move(function)),
      memory_(memory),
      first_change_(first_change),
      vectors_(start.space->shared_from_this(), start.rows, kColumns),
      pairs_(vectors_.space(), start.rows, 2 * memory),
      with_changes_(2 * memory, memory),
      with_gradient_(2 * memory) {
  copy(start, column(kPoint));
  f_ = function_(column(kPoint).data, column(kGradient).data);
  ++evaluations_;
}

bool Lbfgs::step() {
  if (!std::isfinite(f_)) return false;
  LineSearchPoint found;
  for (;;) {
    const bool has_memory = kept_ > 0;
    find_direction();
    const double slope = scalar_product(column(kDirection), column(kGradient));
    start_ = {0, f_, slope};
    if (slope < 0 && std::isfinite(slope) && search(has_memory ? 1 : first_step(), found)) break;
    if (!has_memory) return false;
    forget();
  }
  accept(found);
  first_change_ = 0;
  return true;
}

void Lbfgs::find_direction() {
  copy(column(kGradient), column(kDirection));
  if (kept_ == 0) return scale_vector(column(kDirection), -1);
  add_product(1, pairs_.columns(0, 2 * kept_), two_loops(), -scaling_, column(kDirection));
}

/// Computes the coefficients of the stored vectors in the direction by [NW06, Alg. 7.4], using
/// precomputed products of the vectors.
Vector Lbfgs::two_loops() const {
  Vector weights = Vector::Zero(2 * kept_);
  Vector alpha(kept_);
  const auto rho = [&](Index j) { return 1 / with_changes_(2 * j, j); };
  // q = g - sum alpha_j y_j, from the newest to the oldest pair.
  for (Index age = 0; age < kept_; ++age) {
    const Index i = by_age(age);
    double product = with_gradient_(2 * i);
    for (Index newer = 0; newer < age; ++newer) {
      const Index j = by_age(newer);
      product -= alpha(j) * with_changes_(2 * i, j);
    }
    alpha(i) = rho(i) * product;
  }
  // r = H q + sum (alpha_j - beta_j) s_j, from the oldest to the newest; the direction is -r.
  for (Index age = kept_; age-- > 0;) {
    const Index i = by_age(age);
    double product = with_gradient_(2 * i + 1);
    for (Index j = 0; j < kept_; ++j) product -= alpha(j) * with_changes_(2 * i + 1, j);
    product *= scaling_;
    for (Index older = age + 1; older < kept_; ++older) {
      const Index j = by_age(older);
      product -= weights(2 * j) * with_changes_(2 * j, i);
    }
    weights(2 * i) = rho(i) * product - alpha(i);
    weights(2 * i + 1) = scaling_ * alpha(i);
  }
  return weights;
}

/// Index of the pair of that age; the newest pair has age 0.
Index Lbfgs::by_age(Index age) const { return (next_ - 1 - age + 2 * memory_) % memory_; }

void Lbfgs::forget() {
  kept_ = 0;
  next_ = 0;
  scaling_ = 1;
}

/// Returns the first step length along the negative gradient, where length 1 is badly scaled: no
/// component changes by more than first_change_, or by more than 1 if that is 0.
double Lbfgs::first_step() const {
  const double largest = vectors_.space()->largest(column(kGradient).data, vectors_.rows());
  if (first_change_ > 0 && largest > 0) return first_change_ / largest;
  return largest > 1 ? 1 / largest : 1;
}

Lbfgs::LineSearchPoint Lbfgs::at(double t) {
  copy(column(kPoint), column(kTrial));
  add_multiple(t, column(kDirection), column(kTrial));
  LineSearchPoint here;
  here.t = t;
  here.f = function_(column(kTrial).data, column(kTrialGradient).data);
  // If the gradient is not finite, neither is the slope.
  here.slope = scalar_product(column(kTrialGradient), column(kDirection));
  ++tried_;
  ++evaluations_;
  tried_at_ = t;
  return here;
}

bool Lbfgs::armijo_holds(const LineSearchPoint& here) const {
  return here.f < start_.f && here.f <= start_.f + kSufficientFall * here.t * start_.slope;
}

bool Lbfgs::curvature_holds(const LineSearchPoint& here) const {
  return std::abs(here.slope) <= -kMaxSlope * start_.slope;
}

/// [NW06, Alg. 3.5]
bool Lbfgs::search(double t, LineSearchPoint& found) {
  LineSearchPoint before = start_;
  for (tried_ = 0; tried_ < kMaxTrials;) {
    const LineSearchPoint now = at(t);
    if (!now.is_finite() || !armijo_holds(now) || now.f >= before.f)
      return zoom(before, now, found);
    found = now;
    if (curvature_holds(now)) return true;
    if (now.slope >= 0) return zoom(now, before, found);
    const double wanted = cubic_minimum(before, now);
    const double most = kMaxGrowth * t;
    t = std::isfinite(wanted) ? std::clamp(wanted, kMinGrowth * t, most) : most;
    before = now;
  }
  return true;
}

/// [NW06, Alg. 3.6]: low has the lowest f that satisfies the Armijo condition, and f decreases from
/// low towards high.
bool Lbfgs::zoom(LineSearchPoint low, LineSearchPoint high, LineSearchPoint& found) {
  while (tried_ < kMaxTrials) {
    const double width = high.t - low.t;
    constexpr double kRounding = std::numeric_limits<double>::epsilon();
    if (std::abs(width * low.slope) <= kRounding * std::abs(start_.f)) break;
    const double share = high.is_finite() ? (cubic_minimum(low, high) - low.t) / width : 0;
    const LineSearchPoint now = at(
        low.t +
        width * (std::isnan(share) ? 0.5 : std::clamp(share, kBracketMargin, 1 - kBracketMargin)));
    if (!now.is_finite() || !armijo_holds(now) || now.f >= low.f) {
      high = now;
      continue;
    }
    found = now;
    if (curvature_holds(now)) return true;
    if (now.slope * width >= 0) high = low;
    low = now;
  }
  return accept_lowest(low, found);
}

/// Accepts the lowest point of a search that has found none satisfying the curvature condition.
bool Lbfgs::accept_lowest(const LineSearchPoint& low, LineSearchPoint& found) {
  if (low.t == 0) return false;
  found = tried_at_ == low.t ? low : at(low.t);
  return true;
}

/// Moves to the trial point, which is `found`.
void Lbfgs::accept(const LineSearchPoint& found) {
  const bool bends = found.slope > start_.slope;
  if (bends) {
    const Index pair = next_;
    const MultiVectorView s = pairs_.columns(2 * pair, 1);
    copy(column(kDirection), s);
    scale_vector(s, found.t);
    copy(column(kTrialGradient), column(kChange));
    add_multiple(-1, column(kGradient), column(kChange));
    copy(column(kChange), pairs_.columns(2 * pair + 1, 1));
    next_ = (pair + 1) % memory_;
    kept_ = std::min(kept_ + 1, memory_);
  }
  copy(column(kTrial), column(kPoint));
  copy(column(kTrialGradient), column(kGradient));
  f_ = found.f;
  if (kept_ > 0) multiply_kept(bends);
}

/// Updates the products of the stored vectors with the gradient and, if there is a new pair, with
/// its y.
void Lbfgs::multiply_kept(bool has_new) {
  const Index rows = 2 * kept_;
  const Matrix products =
      transpose_product(pairs_.columns(0, rows), vectors_.columns(kGradient, has_new ? 2 : 1));
  with_gradient_.head(rows) = products.col(0);
  if (!has_new) return;
  const Index pair = by_age(0);
  with_changes_.col(pair).head(rows) = products.col(1);
  for (Index j = 0; j < kept_; ++j) with_changes_(2 * pair + 1, j) = products(2 * j + 1, 1);
  const double curvature = products(2 * pair, 1);
  scaling_ = curvature / products(2 * pair + 1, 1);
  if (!(curvature > 0) || !std::isfinite(scaling_)) forget();
}

}  // namespace matapprox
