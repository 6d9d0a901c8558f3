#include "matapprox/measure/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "measure/estimate.hpp"

namespace matapprox {
namespace {

using report::kPanelColumns;

/// Time to read an entry of a stored matrix, as a product with one vector does once, in units of
/// the time of a multiplication.
constexpr double kReadingEntries = 16;

double apply_cost(const LinearOperator& A, const LinearOperator& B) {
  return A.cost().multiplications_per_apply + B.cost().multiplications_per_apply;
}

/// Reports the fraction of finished panels to control.progress, from any thread but one at a time.
class PanelProgress {
 public:
  PanelProgress(const RunControl& control, Index panels) : control_(control), panels_(panels) {}
  void panel_done() {
    const Index done = ++done_;
    if (!control_.progress) return;
    const std::unique_lock turn(mutex_, std::try_to_lock);
    if (turn) control_.progress({0, -1, static_cast<double>(done) / static_cast<double>(panels_)});
  }

 private:
  const RunControl& control_;
  Index panels_;
  std::atomic<Index> done_{0};
  std::mutex mutex_;
};

/// Number of multiplications for the exact error: all columns of both matrices, and one square per
/// entry.
double exact_cost(const LinearOperator& A, const LinearOperator& B) {
  const double per_column = A.cost().multiplications_per_column +
                            B.cost().multiplications_per_column + static_cast<double>(A.rows());
  return per_column * static_cast<double>(A.cols());
}

/// Computes |(A - B)(:, J)|_F. One pass over both panels is enough if the squares are well inside
/// the range of doubles: then they have the same digits as scaled ones. If `norm_of_A` is not null,
/// sets it to |A(:, J)|_F.
double residual_norm(const LinearOperator& A,
                     const LinearOperator& B,
                     std::span<const Index> J,
                     double* norm_of_A) {
  Matrix difference = A.columns_at(J);
  if (norm_of_A != nullptr) *norm_of_A = report::panel_norm(difference);
  const Matrix approximation = B.columns_at(J);
  const double squares = (difference - approximation).array().square().sum();
  if (squares > 1e-200 && squares < 1e200) return std::sqrt(squares);
  report::refuse_nonfinite(A, difference);
  report::refuse_nonfinite(B, approximation);
  difference -= approximation;
  return report::panel_norm(difference);
}

struct ExactNorms {
  double error = 0;
  double norm_of_A = 0;  ///< 0 unless requested
};

ExactNorms exact_norms(const LinearOperator& A,
                       const LinearOperator& B,
                       bool wants_norm_of_A,
                       const RunControl& control) {
  const Index panels = (A.cols() + kPanelColumns - 1) / kPanelColumns;
  std::vector<double> norms(static_cast<std::size_t>(panels));
  std::vector<double> norms_of_A(wants_norm_of_A ? norms.size() : 0);
  PanelProgress progress(control, panels);
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("measure");
    const Index first = p * kPanelColumns;
    const auto J = index_range(first, std::min(kPanelColumns, A.cols() - first));
    const auto at = static_cast<std::size_t>(p);
    norms[at] = residual_norm(A, B, J, wants_norm_of_A ? &norms_of_A[at] : nullptr);
    progress.panel_done();
  });
  return {report::combined_norm(norms), report::combined_norm(norms_of_A)};
}

/// Returns (A - B) X; throws for NaN and Inf. If `norms` is not null, sets it to |A X|_F + |B X|_F.
Matrix difference_product(const LinearOperator& A,
                          const LinearOperator& B,
                          const Matrix& X,
                          double* norms = nullptr) {
  Matrix image = A.apply(X);
  report::refuse_nonfinite(A, image);
  const Matrix other = B.apply(X);
  report::refuse_nonfinite(B, other);
  if (norms != nullptr) *norms = report::panel_norm(image) + report::panel_norm(other);
  image -= other;
  return image;
}

/// Number of iterations within options.exact_limit; with kQuick, 0 if they are too few to be
/// useful.
Index affordable_iterations(const LinearOperator& A,
                            const LinearOperator& B,
                            const MeasureOptions& options) {
  constexpr Index kFewest = 3;
  const bool quick = options.effort == MeasureEffort::kQuick;
  const double per_iteration = 2 * apply_cost(A, B) * (quick ? kReadingEntries : 1) + 1;
  const double limit = quick ? options.exact_limit / 3 : options.exact_limit;
  const double affordable = std::min(limit / per_iteration, 1e9);
  const auto iterations = static_cast<Index>(quick ? affordable : std::max(affordable, 2.0));
  if (quick && iterations < std::min(kFewest, options.spectral_iterations)) return 0;
  return std::min(options.spectral_iterations, iterations);
}

/// Rounding error of a product with one unit vector, relative to |A|_F + |B|_F.
constexpr double kUnitProductRounding = 4 * std::numeric_limits<double>::epsilon();

/// Power iteration on (A - B)^T (A - B): |D v| for unit v grows towards |D|_2 and never exceeds it
/// except by rounding, which is subtracted. Returns 0 if the products agree to the last bit, and
/// nothing if their whole difference may be rounding.
std::optional<double> spectral_lower_bound(const LinearOperator& A,
                                           const LinearOperator& B,
                                           Index iterations,
                                           const MeasureOptions& options,
                                           const RunControl& control) {
  Matrix v = random_normal_matrix(options.seed, RandomStream::kMeasure, A.cols(), 1);
  double rounding = 0;
  double bound = 0;
  double sure = 0;
  for (Index iteration = 0; iteration < iterations; ++iteration) {
    control.throw_if_stopped("measure");
    const double length = report::panel_norm(v);
    if (length == 0) break;
    v /= length;
    double norms = 0;
    Matrix image = difference_product(A, B, v, &norms);
    // On average over the random initial v, |A v| sqrt(n) is |A|_F.
    if (iteration == 0)
      rounding = kUnitProductRounding * norms * std::sqrt(static_cast<double>(v.size()));
    const double previous = bound;
    const double forward = report::panel_norm(image);
    bound = std::max(bound, forward);
    if (forward == 0) break;
    if (!std::isfinite(forward)) return forward;
    image /= forward;
    const Matrix back = A.apply_transpose(image) - B.apply_transpose(image);
    const double backward = report::panel_norm(back);
    // The bound remains valid if the next product is beyond the range of doubles.
    const bool goes_on = back.allFinite() && std::isfinite(backward);
    // Without rounding, both are u^T (A - B) v.
    const double apart = goes_on ? std::abs(forward - v.cwiseProduct(back).sum()) : 0.0;
    bound = std::max(bound, goes_on ? backward : 0.0);
    sure = std::max(sure, (goes_on ? std::max(forward, backward) : forward) - rounding - apart);
    if (!goes_on || bound - previous <= 1e-5 * bound) break;
    v = back;
  }
  if (bound > 0 && sure <= 0) return std::nullopt;
  return sure;
}

std::optional<double> relative_to(double norm, double error) {
  if (norm > 0) return error / norm;
  if (error == 0) return 0.0;
  return std::nullopt;
}

/// Throws NumericalError if an error is not finite. The entries of both matrices are finite, so
/// their difference or its norm has left the range of doubles.
void require_finite_error(const Measurement& result) {
  const auto check = [](double value, const char* what) {
    if (std::isfinite(value)) return;
    throw NumericalError(fmt::format("measure: {} is beyond the range of doubles", what));
  };
  check(result.error_frobenius, "|A - B|_F");
  if (result.error_interval) check(result.error_interval->second, "the interval of |A - B|_F");
  check(result.relative_error.value_or(0), "|A - B|_F / |A|_F");
  check(result.spectral_error_lower.value_or(0), "|A - B|_2");
}

/// Returns |A(j, j) - B(j, j)|, or an empty vector if that takes more than the options allow.
Vector residual_diagonal(const LinearOperator& A,
                         const LinearOperator& B,
                         const MeasureOptions& options) {
  const double a = A.cost().multiplications_for_diagonal;
  const double b = B.cost().multiplications_for_diagonal;
  if (A.rows() != A.cols() || a < 0 || b < 0 || a + b > options.exact_limit) return {};
  return (A.diagonal() - B.diagonal()).cwiseAbs();
}

void set_estimate(Measurement& result,
                  const report::NormEstimate& estimate,
                  ErrorBasis basis,
                  Index samples) {
  result.error_frobenius = estimate.norm;
  result.error_interval = estimate.interval;
  result.error_is_exact = false;
  result.error_basis = basis;
  result.error_samples = samples;
}

/// Estimates the error from columns drawn at random, with about options.exact_limit / 4
/// multiplications.
void estimate_by_columns(const LinearOperator& A,
                         const LinearOperator& B,
                         const MeasureOptions& options,
                         const RunControl& control,
                         Measurement& result) {
  const double per_column = exact_cost(A, B) / static_cast<double>(A.cols());
  const Index count = report::sample_size(A.cols(), per_column, options.exact_limit / 4);
  const report::ColumnSample sample =
      report::draw_columns(A.cols(), count, options.seed, residual_diagonal(A, B, options));
  PanelProgress progress(control, (count + kPanelColumns - 1) / kPanelColumns);
  const auto columns = [&](std::span<const Index> J) {
    control.throw_if_stopped("measure");
    Matrix difference = A.columns_at(J);
    report::refuse_nonfinite(A, difference);
    const Matrix approximation = B.columns_at(J);
    report::refuse_nonfinite(B, approximation);
    difference -= approximation;
    progress.panel_done();
    return difference;
  };
  set_estimate(result, report::estimate_norm(sample, columns), ErrorBasis::kColumns, count);
}

void estimate_by_vectors(const LinearOperator& A,
                         const LinearOperator& B,
                         const MeasureOptions& options,
                         const RunControl& control,
                         Measurement& result) {
  Index done = 0;
  const auto product = [&](const Matrix& W) {
    Matrix image = difference_product(A, B, W);
    done += W.cols();
    if (control.progress) {
      control.progress({0, -1, static_cast<double>(done) / static_cast<double>(options.probes)});
    }
    return image;
  };
  const report::NormEstimate estimate = report::estimate_norm(
      A.rows(), A.cols(), options, product, [&] { control.throw_if_stopped("measure"); });
  set_estimate(result, estimate, ErrorBasis::kVectors, options.probes);
}

/// Returns the certificate that the options request, for a measured error.
Certificate certificate_of(const LinearOperator& A,
                           const LinearOperator& B,
                           const MatrixFacts& facts,
                           const Measurement& measured,
                           const CertificateOptions& options,
                           const RunControl& control) {
  const bool is_known = measured.error_is_exact && options.norm == CertifiedNorm::kFrobenius;
  Certificate result = is_known ? Certificate{} : certify(A, B, options, control);
  if (measured.error_is_exact) {
    result.frobenius = CertifiedBound{measured.error_frobenius, 1.0};
    result.relative = measured.relative_error;
  } else if (result.frobenius && facts.norm_is_exact && facts.frobenius_norm > 0) {
    result.relative = result.frobenius->value / facts.frobenius_norm;
  }
  return result;
}

/// Number of multiplications that a matrix of any size may take: about 0.1 s.
constexpr double kAlwaysAffordable = 5e9;

/// Returns a function that computes a product with a random block. Block and result are on the
/// host, or stay distributed among the ranks.
std::function<void()> product_to_time(const LinearOperator& B, Index columns) {
  const auto& space = B.memory_space();
  if (!space->is_distributed()) {
    auto X = std::make_shared<const Matrix>(
        random_normal_matrix(1, RandomStream::kMeasure, B.cols(), columns));
    return [X, &B] { const Matrix Y = B.apply(*X); };
  }
  auto X = std::make_shared<const MultiVector>(
      random_normal_block(space, 1, RandomStream::kMeasure, B.cols(), columns));
  return [X, &B] {
    const MultiVector Y = B.apply(X->columns());
    Y.space()->largest(Y.data(), Y.rows());  // all ranks have their part
  };
}

}  // namespace

MeasureOptions within_fit(MeasureOptions options, double fit_multiplications) {
  if (options.effort == MeasureEffort::kFull) return options;
  options.exact_limit =
      std::min(options.exact_limit, std::max(fit_multiplications, kAlwaysAffordable));
  return options;
}

std::optional<double> time_product(const LinearOperator& B, Index columns, double seconds) {
  using Clock = std::chrono::steady_clock;
  // A product holds its result twice. Timing may take the most memory of a command.
  constexpr double kMaxBytes = 0x1p28;
  const double numbers = static_cast<double>(columns) *
                         (static_cast<double>(B.rows()) + static_cast<double>(B.cols()));
  if (sizeof(double) * numbers > kMaxBytes) return std::nullopt;
  const std::function<void()> product = product_to_time(B, columns);
  const auto once = [&] {
    const auto start = Clock::now();
    product();
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const double first = once();
  if (first > 3 * seconds) return first;
  std::vector<double> times;
  double total = 0;
  while (times.size() < 3 || (total < seconds && times.size() < 101)) {
    times.push_back(once());
    total += times.back();
  }
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void add_to_measurement(Measurement& result,
                        const LinearOperator& A,
                        const LinearOperator& B,
                        const MatrixFacts& facts,
                        const MeasureOptions& options,
                        const RunControl& control) {
  if (options.certificate) options.certificate->check();
  const StopScope scope(control, "measure");
  if (const Index iterations = affordable_iterations(A, B, options); iterations > 0)
    result.spectral_error_lower = spectral_lower_bound(A, B, iterations, options, control);
  // Products and columns round differently, so the bound may exceed the exact error.
  if (result.spectral_error_lower && result.error_is_exact)
    result.spectral_error_lower = std::min(*result.spectral_error_lower, result.error_frobenius);
  require_finite_error(result);
  if (options.certificate) {
    result.certificate = certificate_of(A, B, facts, result, *options.certificate, control);
  }
  if (options.time_products) {
    const double seconds = options.effort == MeasureEffort::kQuick ? 0.01 : 0.3;
    result.apply_seconds_1 = time_product(B, 1, seconds);
    result.apply_seconds_64 = time_product(B, 64, seconds);
  }
}

Measurement measure(const LinearOperator& A,
                    const LinearOperator& B,
                    const MatrixFacts& facts,
                    const MeasureOptions& options,
                    const RunControl& control) {
  require(A.rows() == B.rows() && A.cols() == B.cols(),
          "measure: the matrix is {} x {}, the approximation {} x {}",
          A.rows(),
          A.cols(),
          B.rows(),
          B.cols());
  require(options.effort != MeasureEffort::kNone, "measure: the effort is none");
  if (options.certificate) options.certificate->check();
  const StopScope scope(control, "measure");
  const bool quick = options.effort == MeasureEffort::kQuick;
  double norm = facts.frobenius_norm;
  Measurement result;
  if (options.always_exact || exact_cost(A, B) < options.exact_limit) {
    // An exact error divided by an estimated norm would not be exact, although it is reported as
    // exact.
    const ExactNorms norms = exact_norms(A, B, !facts.norm_is_exact, control);
    result.error_frobenius = norms.error;
    if (!facts.norm_is_exact) norm = norms.norm_of_A;
  } else if (quick && report::makes_entries(A) &&
             static_cast<double>(options.probes) * apply_cost(A, B) > options.exact_limit) {
    estimate_by_columns(A, B, options, control, result);
  } else {
    estimate_by_vectors(A, B, options, control, result);
  }
  result.relative_error = relative_to(norm, result.error_frobenius);
  result.worse_than_zero = result.error_frobenius > norm;
  add_to_measurement(result, A, B, facts, options, control);
  return result;
}

double CumulativeSpectrum::share(Index k, int power) const {
  double head = 0;
  double all = 0;
  // Values are divided by the largest, so that their powers neither overflow nor all vanish.
  const double largest = values.size() > 0 ? values(0) : 0.0;
  for (Index i = 0; i < values.size() && largest > 0; ++i) {
    const double term = std::pow(values(i) / largest, power);
    all += term;
    if (i < k) head += term;
  }
  return all > 0 ? head / all : std::numeric_limits<double>::quiet_NaN();
}

CumulativeSpectrum cumulative_spectrum(const LinearOperator& A, bool center_columns) {
  Matrix dense = A.columns_at(index_range(0, A.cols()));
  if (center_columns) dense.rowwise() -= dense.colwise().mean().eval();
  return {kernels::singular_values(dense), center_columns};
}

}  // namespace matapprox
