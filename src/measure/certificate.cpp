#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/quantiles.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/measure/measure.hpp"
#include "measure/estimate.hpp"

// Why the bounds hold. Q depends on Omega alone and the w_i are independent of Omega, so everything
// below is for a fixed F. Let s_1 >= s_2 >= ... be its singular values, lambda_j = s_j^2, and
// X_j = sum over the 8 probes of (v_j^T w_i)^2: independent chi-squared variables of 8 degrees of
// freedom. Then S = sum lambda_j X_j and T = sum lambda_j^3 X_j. q_d(p) is the quantile of
// chi-squared with d degrees of freedom.
//
// Spectral norm: T >= s_1^6 X_1, and X_1 < q_8(p) with probability p. So s_1^6 <= T / q_8(p) with
// probability 1 - p: event one.
//
// Frobenius norm: S is a weighted sum of chi-squared variables of one degree of freedom, 8 of each
// weight lambda_j. The weights add up to 8 x, x = |F|_F^2, and none exceeds b = s_1^2.
//
//   Unequal weights raise the lower tail. Let Y = sum over i of c_i G_i, G_i independent gamma
//   variables of shape 1/2. Moving weight from c_2 to c_1 >= c_2 changes P(Y <= t) at the rate
//   (c_1 - c_2) g'(t) / 2, where g is the density of Y' = Y + c_1 E_1 + c_2 E_2
//   with exponential E_1, E_2: both sides have the same Laplace transform. Y' is unimodal, as a sum
//   of gamma variables, so the rate is not negative for t up to its mode M. [RS15] That mode is at
//   least mean(Y') - max c. For Y' with shapes a_i, t g(t) = sum a_i h_i(t) with h_i(t) = int_0^t
//   g(t - u) exp(-u / c_i) du, again by Laplace transform. Integration by parts gives h_i(M) = c_i
//   (g(M) - k_i) with k_i = int_0^M g'(M - u) exp(-u / c_i) du >= 0, and the derivative of t g(t)
//   at M gives g(M) = sum a_i k_i. Together, M g(M) = sum a_i c_i (g(M) - k_i) >= (mean(Y') -
//   max c) g(M). So P(Y <= t) grows with every such move as long as t <= sum c_i / 2 - max c.
//
//   The worst case. All weights are at most b and add up to 8 x. With d = floor(8 x / b) they are
//   majorized by d weights of 8 x / d each, and moves between weights that stay below 8 x / d turn
//   them into these. So P(S < (8 x / d) q_d(p)) <= P(chi-squared_d < q_d(p)) = p, provided that
//   q_d(p) <= d - 2. For d >= 8 that holds for p <= 0.353, P(chi-squared_8 <= 6); the shares below
//   never exceed 0.35. So x <= S d / (8 q_d(p)) with probability 1 - p: event two. [Hal24] treats
//   such matrices of bounded effective rank. The same argument with whole singular values,
//   r = floor(x / b) of them and 8 r degrees of freedom, gives a bound that is never smaller.
//
// b and x are not known. q_d / d grows with d, by the same argument for equal weights. On event one
// b <= beta^2, so d(x) = floor(8 x / beta^2) is at most the true d. On both events the true x
// satisfies x <= S d(x) / (8 q_{d(x)}), so it is at most the largest number that does. d below 8 is
// replaced by 8, the case of one singular value, which needs no b; d above 8 min(m, n) is
// impossible. Because S d / (8 q_d) decreases with d, the result is automatically at most S / q_8.
//
// Each of the two events gets half of delta, so the bounds hold together with probability 1 - delta
// (union bound; they share their probes). For both norms, E = Q Q^T E + F with orthogonal ranges:
// |E|_F^2 is the sum of the squares of both parts, and |E|_2^2 is at most that sum.
namespace matapprox {
namespace {

constexpr Index kProbes = 8;
/// If the smaller dimension is at most this, all of E takes no more products than a certificate.
constexpr Index kAllColumns = 5 * kProbes;
/// Largest share of delta per event. Up to this probability a chi-squared quantile is at most d - 2
/// for all d >= 8, see above.
constexpr double kLargestShare = 0.35;
constexpr double kUnitRoundoff = 0x1p-53;

/// Computes X 2^-exponent without rounding and without intermediate overflow.
void divide_by_power_of_two(Matrix& X, int exponent) {
  const int half = exponent / 2;
  X *= std::ldexp(1.0, -half);
  X *= std::ldexp(1.0, half - exponent);
}

int exponent_of(double norm) {
  int exponent = 0;
  if (norm > 0) std::frexp(norm, &exponent);
  return exponent;
}

/// Computes and counts products with E = A - B, in units of 2^exponent. Estimates the size of A and
/// B from their images.
class ErrorProducts {
 public:
  ErrorProducts(const LinearOperator& A, const LinearOperator& B, const RunControl& control)
      : A_(A), B_(B), control_(control) {}

  /// Returns E W for standard normal W: |A w|^2 is |A|_F^2 on average.
  Matrix apply_to_probes(const Matrix& W) {
    begin(W);
    Matrix image = A_.apply(W);
    report::refuse_nonfinite(A_, image);
    const Matrix other = B_.apply(W);
    report::refuse_nonfinite(B_, other);
    const double norms = report::panel_norm(image) + report::panel_norm(other);
    size_ = std::max(size_, norms / std::sqrt(static_cast<double>(W.cols())));
    return scaled_difference(std::move(image), other);
  }

  Matrix apply(const Matrix& X) {
    begin(X);
    return scaled_difference(A_.apply(X), B_.apply(X));
  }

  Matrix apply_transpose(const Matrix& X) {
    begin(X);
    return scaled_difference(A_.apply_transpose(X), B_.apply_transpose(X));
  }

  /// Chooses the unit so that `image`, so far in units of 1, and all later products are of ordinary
  /// size. The norm of E is taken to be at least the rounding error of A - B.
  void choose_unit(Matrix& image) {
    const double norm = std::max(report::panel_norm(image), kUnitRoundoff * size_);
    if (!std::isfinite(norm)) throw NumericalError("certify: A - B is beyond the range of doubles");
    exponent_ = exponent_of(norm);
    divide_by_power_of_two(image, exponent_);
  }
  double in_units(double norm) const { return std::ldexp(norm, -exponent_); }
  double without_units(double norm) const { return std::ldexp(norm, exponent_); }

  /// |A|_F + |B|_F, roughly.
  double size() const { return size_; }
  Index products() const { return products_; }
  double passes() const { return passes_; }

 private:
  void begin(const Matrix& X) {
    control_.throw_if_stopped("certify");
    if (control_.progress) control_.progress({0, -1, passes_ / 5});
    products_ += X.cols();
    passes_ += 1;
  }
  Matrix scaled_difference(Matrix image, const Matrix& other) const {
    image -= other;
    if (!image.allFinite()) {
      throw NumericalError(fmt::format(
          "certify: a product with {} minus {} is not finite", A_.description(), B_.description()));
    }
    divide_by_power_of_two(image, exponent_);
    return image;
  }

  const LinearOperator& A_;
  const LinearOperator& B_;
  const RunControl& control_;
  int exponent_ = 0;
  double size_ = 0;
  Index products_ = 0;
  double passes_ = 0;
};

/// Removes from Y its part in the range of Q. Does so twice: then the rounding error of that part
/// is small relative to the remainder, not only relative to Y.
void project_out(const Matrix& Q, Matrix& Y) {
  for (int pass = 0; pass < 2; ++pass) {
    const Matrix part = Q.transpose() * Y;
    Y -= Q * part;
  }
}

/// Norms of E that the probes show, in units of 2^exponent. Rounding may have reduced the norm of a
/// product by `rounding` for each column.
struct Observations {
  double known_frobenius = 0;  ///< |Q^T E|_F
  double known_spectral = 0;   ///< |Q^T E|_2
  double once = 0;             ///< sqrt(S)
  double back = 0;             ///< |F^T F W|_F
  double thrice = 0;           ///< sqrt(T)
  double rounding = 0;
};

Observations observe(ErrorProducts& E, Index m, Index n, std::uint64_t seed) {
  const auto probes = [&](Index first) {
    Matrix W(n, kProbes);
    fill_normal(seed, RandomStream::kCertificate, W, 0, first);
    return W;
  };
  Matrix Y = E.apply_to_probes(probes(0));
  E.choose_unit(Y);
  const Matrix Q = kernels::thin_qr(std::move(Y));

  const Matrix known = E.apply_transpose(Q);  // E^T Q
  const Matrix W = probes(kProbes);
  Y = E.apply_to_probes(W);
  Observations seen;
  // Without rounding, both terms are Q^T E W.
  const double disagreement = (Q.transpose() * Y - known.transpose() * W).norm();
  seen.rounding =
      4 * kUnitRoundoff * static_cast<double>(std::max(m, n)) * E.in_units(E.size()) + disagreement;
  seen.known_frobenius = known.norm();
  seen.known_spectral = kernels::singular_values(known)(0);

  project_out(Q, Y);
  const Matrix back = E.apply_transpose(Y);
  Matrix Z = E.apply(back);
  project_out(Q, Z);
  seen.once = Y.norm();
  seen.back = back.norm();
  seen.thrice = Z.norm();
  return seen;
}

/// Largest root b of c b^3 = a_2 b^2 + a_1 b + a_0, where c > 0 and no coefficient is negative.
double largest_root(double c, double a_2, double a_1, double a_0) {
  // Newton's method decreases from Fujiwara's bound to the root.
  double b = 2 * std::max({a_2 / c, std::sqrt(a_1 / c), std::cbrt(a_0 / c)});
  for (int step = 0; step < 200 && b > 0; ++step) {
    const double value = ((c * b - a_2) * b - a_1) * b - a_0;
    const double slope = (3 * c * b - 2 * a_2) * b - a_1;
    const double next = b - value / slope;
    if (!(next < b)) break;
    b = next;
  }
  return b;
}

/// Upper bound beta of |F|_2 that holds with probability 1 - p. Rounding changes the products F W,
/// F^T F W and F F^T F W by at most e |W|, e |F W| and e |F^T F W|. It reduces sqrt(T) by at most
/// sqrt(8) e beta^2 + e |F W| beta + e |F^T F W|.
double spectral_bound(const Observations& seen, double p) {
  const double e = seen.rounding;
  const double root = std::sqrt(static_cast<double>(kProbes));
  return largest_root(std::sqrt(chi_square_quantile(static_cast<double>(kProbes), p)),
                      root * e,
                      e * seen.once,
                      seen.thrice + e * seen.back);
}

/// The largest x with x <= S d / (8 q_d(p)), d = floor(8 x / beta^2) within 8 .. 8 k; k = min(m,
/// n).
double squared_frobenius_bound(const Observations& seen, double beta, Index k, double p) {
  const auto probes = static_cast<double>(kProbes);
  const double once = seen.once + std::sqrt(probes) * seen.rounding;
  const double S = once * once;
  const double b = beta * beta;
  const auto limit = [&](Index d) {
    const auto degrees = static_cast<double>(d);
    return S * degrees / (probes * chi_square_quantile(degrees, p));
  };
  const auto least = [&](Index d) { return static_cast<double>(d) * b / probes; };
  // limit decreases and least increases with d. Finds the last d with least(d) <= limit(d), or 8.
  Index d = kProbes;
  for (Index above = kProbes * k + 1; above - d > 1;) {
    const Index middle = d + (above - d) / 2;
    (least(middle) <= limit(middle) ? d : above) = middle;
  }
  return std::min(limit(d), d < kProbes * k ? least(d + 1) : least(d));
}

Certificate from_probes(ErrorProducts& E, Index m, Index n, const CertificateOptions& options) {
  const double delta = 1 - options.confidence;
  const Observations seen = observe(E, m, n, options.seed);
  const double allowance = std::sqrt(static_cast<double>(kProbes)) * seen.rounding;
  const double known_spectral = seen.known_spectral + allowance;
  Certificate result;
  const auto certified = [&](double value) {
    return CertifiedBound{E.without_units(value), options.confidence};
  };
  if (options.norm == CertifiedNorm::kSpectral) {
    result.spectral = certified(std::hypot(known_spectral, spectral_bound(seen, delta)));
  } else {
    const double share = std::min(delta / 2, kLargestShare);
    const double beta = spectral_bound(seen, share);
    const double x = squared_frobenius_bound(seen, beta, std::min(m, n), share);
    const double rest = std::sqrt(x);
    result.frobenius = certified(std::hypot(seen.known_frobenius + allowance, rest));
    result.spectral = certified(std::hypot(known_spectral, std::min(beta, rest)));
  }
  result.rounding = E.without_units(seen.rounding);
  return result;
}

/// Computes the norms of E from all of its columns or rows, whichever are fewer.
Certificate from_all(ErrorProducts& E, Index m, Index n) {
  const Index k = std::min(m, n);
  Certificate result;
  result.frobenius = CertifiedBound{};
  result.spectral = CertifiedBound{};
  if (k == 0) return result;
  const Matrix unit = Matrix::Identity(k, k);
  Matrix all = n <= m ? E.apply(unit) : E.apply_transpose(unit);
  E.choose_unit(all);
  result.frobenius->value = E.without_units(all.norm());
  result.spectral->value = E.without_units(kernels::singular_values(all)(0));
  return result;
}

void require_finite(const std::optional<CertifiedBound>& bound, const char* norm) {
  if (!bound || std::isfinite(bound->value)) return;
  throw NumericalError(
      fmt::format("certify: the bound of |A - B|_{} is beyond the range of doubles", norm));
}

}  // namespace

void CertificateOptions::check() const {
  require(confidence > 0 && confidence < 1,
          "certify: confidence {} is outside 0..1, both excluded",
          confidence);
}

Certificate certify(const LinearOperator& A,
                    const LinearOperator& B,
                    const CertificateOptions& options,
                    const RunControl& control) {
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "certify: the matrix is {} x {}, the approximation {} x {}",
          A.rows(),
          A.cols(),
          B.rows(),
          B.cols());
  options.check();
  const StopScope scope(control, "certify");
  ErrorProducts E(A, B, control);
  const bool few = std::min(A.rows(), A.cols()) <= kAllColumns;
  Certificate result =
      few ? from_all(E, A.rows(), A.cols()) : from_probes(E, A.rows(), A.cols(), options);
  result.norm = options.norm;
  result.products = E.products();
  result.passes = E.passes();
  require_finite(result.frobenius, "F");
  require_finite(result.spectral, "2");
  return result;
}

}  // namespace matapprox
