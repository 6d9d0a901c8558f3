#include "matapprox/report/measure.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "core/require.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "report/estimate.hpp"
#include "report/panel_norm.hpp"

namespace matapprox {
namespace {

using report::kPanelColumns;

/// Multiplications of the exact error: all columns of both, and one square per entry.
double exact_cost(const LinearOperator& A, const LinearOperator& B) {
  const double per_column = A.cost().multiplications_per_column +
                            B.cost().multiplications_per_column + static_cast<double>(A.rows());
  return per_column * static_cast<double>(A.cols());
}

double exact_error(const LinearOperator& A, const LinearOperator& B, const RunControl& control) {
  const Index panels = (A.cols() + kPanelColumns - 1) / kPanelColumns;
  std::vector<double> norms(static_cast<std::size_t>(panels));
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("measure");
    const Index first = p * kPanelColumns;
    const auto J = index_range(first, std::min(kPanelColumns, A.cols() - first));
    Matrix difference = A.columns_at(J);
    report::refuse_nonfinite(A, difference);
    const Matrix approximation = B.columns_at(J);
    report::refuse_nonfinite(B, approximation);
    difference -= approximation;
    norms[static_cast<std::size_t>(p)] = report::panel_norm(difference);
  });
  return report::combined_norm(norms);
}

/// (A - B) X, with NaN and Inf refused.
Matrix difference_product(const LinearOperator& A, const LinearOperator& B, const Matrix& X) {
  Matrix image = A.apply(X);
  report::refuse_nonfinite(A, image);
  const Matrix other = B.apply(X);
  report::refuse_nonfinite(B, other);
  image -= other;
  return image;
}

/// Power iteration on (A - B)^T (A - B): |D v| for unit v grows towards |D|_2 and never passes it.
double spectral_lower_bound(const LinearOperator& A,
                            const LinearOperator& B,
                            const MeasureOptions& options,
                            const RunControl& control) {
  const double per_iteration =
      2 * (A.cost().multiplications_per_apply + B.cost().multiplications_per_apply) + 1;
  const double affordable = std::clamp(options.exact_limit / per_iteration, 2.0, 1e9);
  const Index iterations = std::min(options.spectral_iterations, static_cast<Index>(affordable));
  Matrix v = random_normal_matrix(options.seed, RandomStream::kMeasure, A.cols(), 1);
  double bound = 0;
  for (Index iteration = 0; iteration < iterations; ++iteration) {
    control.throw_if_stopped("measure");
    const double length = report::panel_norm(v);
    if (length == 0) break;
    v /= length;
    Matrix image = difference_product(A, B, v);
    const double previous = bound;
    const double forward = report::panel_norm(image);
    bound = std::max(bound, forward);
    if (forward == 0 || !std::isfinite(forward)) break;
    image /= forward;
    v = A.apply_transpose(image) - B.apply_transpose(image);
    bound = std::max(bound, report::panel_norm(v));
    if (bound - previous <= 1e-5 * bound) break;
  }
  return bound;
}

std::optional<double> relative_to(double norm, double error) {
  if (norm > 0) return error / norm;
  if (error == 0) return 0.0;
  return std::nullopt;
}

}  // namespace

double time_product(const LinearOperator& B, Index columns) {
  using Clock = std::chrono::steady_clock;
  const Matrix X = random_normal_matrix(1, RandomStream::kMeasure, B.cols(), columns);
  const auto once = [&] {
    const auto start = Clock::now();
    const Matrix Y = B.apply(X);
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const double first = once();
  if (first > 1.0) return first;
  std::vector<double> seconds;
  double total = 0;
  while (seconds.size() < 3 || (total < 0.3 && seconds.size() < 101)) {
    seconds.push_back(once());
    total += seconds.back();
  }
  const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
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
  Measurement result;
  if (options.always_exact || exact_cost(A, B) < options.exact_limit) {
    result.error_frobenius = exact_error(A, B, control);
  } else {
    const auto product = [&](const Matrix& W) { return difference_product(A, B, W); };
    const report::NormEstimate estimate = report::estimate_norm(
        A.rows(), A.cols(), options, product, [&] { control.throw_if_stopped("measure"); });
    result.error_frobenius = estimate.norm;
    result.error_interval = estimate.interval;
    result.error_is_exact = false;
  }
  result.relative_error = relative_to(facts.frobenius_norm, result.error_frobenius);
  result.worse_than_zero = result.error_frobenius > facts.frobenius_norm;
  if (options.spectral_iterations > 0)
    result.spectral_error_lower = spectral_lower_bound(A, B, options, control);
  if (options.time_products) {
    result.apply_seconds_1 = time_product(B, 1);
    result.apply_seconds_64 = time_product(B, 64);
  }
  return result;
}

}  // namespace matapprox
