#include "matapprox/operators/covariance.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "matapprox/core/error.hpp"
#include "support/conversions.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::test {
namespace {

TEST(CovarianceOperator, HandWorkedExample) {
  Matrix samples(3, 2);
  samples << 1, 2, 2, 4, 3, 9;
  Matrix expected(2, 2);
  expected << 1, 3.5, 3.5, 13;
  EXPECT_CLOSE(dense_of(CovarianceOperator(samples, false)), expected, rounding(2 * 3 + 3));
}

TEST(CovarianceOperator, LargeOffsetCostsNoDigits) {
  // Adding the offsets loses bits of the samples, but both sides then use the same samples. A mean
  // computed in one pass is wrong by about 1e-4 here, the covariance by its square.
  Matrix samples = random_matrix(500, 6);
  samples.col(0).array() += 1099511627776.0;
  samples.col(1).array() -= 1099511627776.0;
  EXPECT_CLOSE(
      dense_of(CovarianceOperator(samples, false)), covariance_matrix(samples, false), 1e-12);
  EXPECT_CLOSE(
      dense_of(CovarianceOperator(samples, true)), covariance_matrix(samples, true), 1e-12);
}

TEST(CovarianceOperator, ConstantColumnHasNoCovariance) {
  Matrix samples = random_matrix(20, 3);
  samples.col(1).setConstant(0.1);  // the computed mean is not exactly 0.1
  const Matrix C = dense_of(CovarianceOperator(samples, false));
  EXPECT_EQ(C.col(1).cwiseAbs().maxCoeff(), 0);
  EXPECT_EQ(C.row(1).cwiseAbs().maxCoeff(), 0);
}

TEST(CovarianceOperator, ExtremeSamplesDoNotOverflow) {
  const Matrix samples = random_matrix(20, 3) * 1e300;
  EXPECT_CLOSE(dense_of(CovarianceOperator(samples, true)),
               covariance_matrix(random_matrix(20, 3), true),
               1e-14);
}

TEST(CovarianceOperator, Refusals) {
  Matrix samples = random_matrix(20, 3);
  samples.col(2).setConstant(-7);
  EXPECT_REFUSED(InvalidArgument, CovarianceOperator(samples, true), "column 2");
  EXPECT_REFUSED(InvalidArgument, CovarianceOperator(Matrix::Ones(1, 3), false), "1 sample;");
  EXPECT_REFUSED(InvalidArgument, CovarianceOperator(Matrix(0, 3), true), "0 samples;");
  EXPECT_REFUSED(InvalidArgument, CovarianceOperator(Matrix(3, 0), false), "have no columns");
  samples(4, 1) = std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(NumericalError, CovarianceOperator(samples, false), "entry (4, 1)");
}

}  // namespace
}  // namespace matapprox::test
