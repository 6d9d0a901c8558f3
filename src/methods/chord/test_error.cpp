#include "methods/chord/test_error.hpp"

#include <algorithm>
#include <cmath>

#include "core/student.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::chord_fit {
namespace {

/// Columns per panel; three matrices of this width are in memory at a time.
constexpr std::size_t kPanel = 16;

}  // namespace

std::optional<TestError> chord_test_error(const LinearOperator& A,
                                          const LinearOperator& B,
                                          std::span<const Index> J) {
  const auto count = static_cast<Index>(J.size());
  require(count >= 2, "chord: {} test columns are too few; at least 2 are needed", count);
  Vector errors(count);
  Vector norms(count);
  for (std::size_t first = 0; first < J.size(); first += kPanel) {
    const auto part = J.subspan(first, std::min(kPanel, J.size() - first));
    const Matrix X = A.columns_at(part);
    const auto width = static_cast<Index>(part.size());
    const auto at = static_cast<Index>(first);
    norms.segment(at, width) = X.colwise().stableNorm().transpose();
    errors.segment(at, width) = (X - B.columns_at(part)).colwise().stableNorm().transpose();
  }
  const double scale = norms.maxCoeff();
  if (!norms.allFinite() || !errors.allFinite())
    throw NumericalError("chord: a test column of the matrix has NaN or Inf in it");
  if (scale == 0) return std::nullopt;
  const auto square_errors = (errors / scale).array().square();
  const auto square_norms = (norms / scale).array().square();
  const double ratio = square_errors.sum() / square_norms.sum();
  if (ratio == 0) return TestError{};
  // Variance of the ratio, a quotient of sums, from the residuals e_c^2 - ratio n_c^2.
  const double spread = (square_errors - ratio * square_norms).square().sum();
  const auto size = static_cast<double>(count);
  const double deviation = std::sqrt(size / (size - 1) * spread) / square_norms.sum();
  const double half_width = student_quantile(count - 1) * deviation / ratio / 2;
  const double error = std::sqrt(ratio);
  return TestError{error, error * std::exp(-half_width), error * std::exp(half_width)};
}

}  // namespace matapprox::chord_fit
