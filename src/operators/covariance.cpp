#include "matapprox/operators/covariance.hpp"

#include <fmt/format.h>

#include <cmath>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "operators/finite.hpp"

namespace matapprox {

namespace {

/// Subtracts the mean. The second pass removes the rounding error of the first.
void center(Eigen::Ref<Vector> column) {
  const auto n = static_cast<double>(column.size());
  // Dividing first keeps the sum of large entries finite.
  for (int pass = 0; pass < 2; ++pass) column.array() -= (column / n).sum();
}

bool is_constant(const Eigen::Ref<const Vector>& column) {
  return (column.array() == column(0)).all();
}

}  // namespace

CovarianceOperator::CovarianceOperator(Matrix samples, bool correlation)
    : centered_(std::move(samples)), correlation_(correlation) {
  const char* name = correlation ? "correlation" : "covariance";
  require(centered_.rows() >= 2,
          "{}: {} sample{}; at least 2 rows are needed",
          name,
          centered_.rows(),
          centered_.rows() == 1 ? "" : "s");
  require(centered_.cols() >= 1, "{}: the samples have no columns", name);
  require_finite(centered_, fmt::format("{} samples", name));
  const double root = std::sqrt(static_cast<double>(centered_.rows() - 1));
  parallel_for(centered_.cols(), [&](Index j) {
    if (is_constant(centered_.col(j))) {
      require(!correlation_,
              "correlation: column {}, counted from 0, is constant; its standard deviation is 0",
              j);
      centered_.col(j).setZero();
      return;
    }
    center(centered_.col(j));
    centered_.col(j) /= correlation_ ? centered_.col(j).stableNorm() : root;
  });
}

Vector CovarianceOperator::diagonal() const {
  return correlation_ ? Vector(Vector::Ones(cols()))
                      : Vector(centered_.colwise().squaredNorm().transpose());
}

Cost CovarianceOperator::cost() const {
  const auto size = static_cast<double>(centered_.size());
  return {.stored_numbers = centered_.size(),
          .stored_bytes = centered_.size() * bytes_per_value(Precision::kDouble),
          .multiplications_per_apply = 2 * size,
          .multiplications_per_column = size};
}

KnownFacts CovarianceOperator::known_facts() const {
  return {.symmetric = true, .nonzeros = {}, .frobenius_norm = {}};
}

std::string CovarianceOperator::description() const {
  return fmt::format("{} of {} samples of {} variables",
                     correlation_ ? "correlation" : "covariance",
                     centered_.rows(),
                     centered_.cols());
}

void CovarianceOperator::do_apply(const ConstBlock& X, Block Y) const {
  const Matrix ZX = kernels::product(centered_, X);
  kernels::gemm(kernels::Trans::kYes, centered_, kernels::Trans::kNo, ZX, Y);
}

void CovarianceOperator::do_apply_transpose(const ConstBlock& X, Block Y) const { do_apply(X, Y); }

void CovarianceOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  Matrix chosen(centered_.rows(), Y.cols());
  for (Index k = 0; k < Y.cols(); ++k) {
    chosen.col(k) = centered_.col(J[static_cast<std::size_t>(k)]);
  }
  kernels::gemm(kernels::Trans::kYes, centered_, kernels::Trans::kNo, chosen, Y);
}

void CovarianceOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  do_columns_at(I, Y);
}

}  // namespace matapprox
