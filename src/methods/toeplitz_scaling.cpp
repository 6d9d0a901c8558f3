#include "methods/toeplitz_scaling.hpp"

#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::diagonals {
namespace {

constexpr Index kSampledRectangles = 100;
/// Largest difference of logarithms that is rounding.
constexpr double kRoundingOfLogarithms = 1e-11;
/// Largest relative difference of an entry.
constexpr double kMaxEntryDifference = 1e-9;
/// Largest factor by which rounding errors of products may exceed those of products with A.
constexpr double kMaxLossOfProducts = 100;
constexpr Index kMinSide = 4;

/// The next entry on a diagonal, or on an antidiagonal, is one row further down in this column.
Index next_column(ToeplitzForm form, Index j) {
  return form == ToeplitzForm::kHankel ? j - 1 : j + 1;
}

/// The first of the columns that have a next one.
Index first_column(ToeplitzForm form) { return form == ToeplitzForm::kHankel ? 1 : 0; }

bool is_usable(double x) { return x != 0 && std::isfinite(x); }

/// Running sums: the logarithms of a scaling from those of the ratios of its neighbors.
Vector from_differences(const Vector& differences, double sign) {
  Vector sums(differences.size() + 1);
  sums(0) = 0;
  for (Index k = 0; k < differences.size(); ++k) sums(k + 1) = sums(k) + sign * differences(k);
  return sums;
}

}  // namespace

bool looks_scaled(const Matrix& A, ToeplitzForm form, std::uint64_t seed) {
  if (A.rows() < kMinSide || A.cols() < kMinSide) return false;
  const auto log_ratio = [&](Index i, Index j) {
    return std::log(std::abs(A(i, j))) - std::log(std::abs(A(i + 1, next_column(form, j))));
  };
  for (Index k = 0; k < kSampledRectangles; ++k) {
    const auto drawn = [&](Index part, Index bound) {
      return random_index(seed, RandomStream::kToeplitz, k, 4 + part, bound);
    };
    const Index i = drawn(0, A.rows() - 1);
    const Index other_i = drawn(1, A.rows() - 1);
    const Index j = first_column(form) + drawn(2, A.cols() - 1);
    const Index other_j = first_column(form) + drawn(3, A.cols() - 1);
    const double difference = log_ratio(i, j) + log_ratio(other_i, other_j) -
                              log_ratio(i, other_j) - log_ratio(other_i, j);
    if (!(std::abs(difference) <= kRoundingOfLogarithms)) return false;
  }
  return true;
}

std::optional<ScaledDiagonals> scaled_diagonals(const Matrix& A,
                                                ToeplitzForm form,
                                                bool symmetric) {
  const Index m = A.rows();
  const Index n = A.cols();
  if (!A.unaryExpr([](double x) { return is_usable(x) ? 1.0 : 0.0; }).all()) return std::nullopt;
  const Matrix logs = A.array().abs().log().matrix();
  // log |A(i, j)| - log |A(i + 1, next j)| = a_i + b_j, by the means of rows and of columns.
  const Index first = first_column(form);
  const Matrix ratios =
      logs.block(0, first, m - 1, n - 1) - logs.block(1, first == 1 ? 0 : 1, m - 1, n - 1);
  const double mean = ratios.mean();
  const Vector of_rows = ratios.rowwise().mean().array() - 0.5 * mean;
  const Vector of_cols = ratios.colwise().mean().transpose().array() - 0.5 * mean;
  const double direction = form == ToeplitzForm::kHankel ? 1 : -1;
  ScaledDiagonals found;
  found.left = from_differences(of_rows, -1).array().exp();
  found.right = from_differences(of_cols, direction).array().exp();
  // The signs of T may be any; those of the scalings follow from the first row and column.
  const auto sign_ratio = [&](Index i, Index j) {
    return std::copysign(1.0, A(i, j)) * std::copysign(1.0, A(i + 1, next_column(form, j)));
  };
  for (Index i = 0; i + 1 < m; ++i) {
    const double before = std::copysign(1.0, found.left(i));
    found.left(i + 1) *= before * sign_ratio(i, first);
  }
  for (Index k = 0; k + 1 < n; ++k) {
    const double before = std::copysign(1.0, found.right(k));
    found.right(k + 1) *= before * sign_ratio(0, first + k) * sign_ratio(0, first);
  }
  if (symmetric) found.right = found.left;
  const bool folds = symmetric && form == ToeplitzForm::kToeplitz;
  found.levels = {ToeplitzLevel{}, ToeplitzLevel{m, n, folds ? ToeplitzForm::kSymmetric : form}};
  const ToeplitzLevel& level = found.levels[1];
  found.symbol = Vector::Zero(level.values());
  Vector counts = Vector::Zero(level.values());
  const auto unscaled = [&](Index i, Index j) { return A(i, j) / found.left(i) / found.right(j); };
  for (Index j = 0; j < n; ++j) {
    throw_if_stop_requested();
    for (Index i = 0; i < m; ++i) {
      found.symbol(level.value(i, j)) += unscaled(i, j);
      counts(level.value(i, j)) += 1;
    }
  }
  found.symbol = found.symbol.cwiseQuotient(counts);
  const auto entry = [&](Index i, Index j) {
    return found.left(i) * found.symbol(level.value(i, j)) * found.right(j);
  };
  // Running sums add up rounding errors; the mean ratio of a row has those of its scaling alone.
  Vector corrections(m);
  for (Index i = 0; i < m; ++i) {
    double sum = 0;
    for (Index j = 0; j < n; ++j) sum += A(i, j) / entry(i, j);
    corrections(i) = sum / static_cast<double>(n);
  }
  if (symmetric) corrections = corrections.cwiseSqrt().eval();
  found.left = found.left.cwiseProduct(corrections);
  if (symmetric) found.right = found.left;
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < m; ++i) {
      if (!(std::abs(A(i, j) - entry(i, j)) <= kMaxEntryDifference * std::abs(A(i, j))))
        return std::nullopt;
    }
  }
  // A product has rounding errors of this size, times eps.
  double squares = 0;
  for (Index d = 0; d < found.symbol.size(); ++d)
    squares += counts(d) * found.symbol(d) * found.symbol(d);
  const double of_products =
      found.left.cwiseAbs().maxCoeff() * std::sqrt(squares) * found.right.cwiseAbs().maxCoeff();
  if (!(of_products <= kMaxLossOfProducts * A.stableNorm())) return std::nullopt;
  return found;
}

}  // namespace matapprox::diagonals
