#include "matapprox/measure/measure.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/quantiles.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "measure/estimate.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

/// A stored matrix without known facts that accepts NaN. Its sums start with the last column,
/// unlike those of DenseOperator, so that the products differ by rounding with every instruction
/// set.
class PlainOperator final : public LinearOperator {
 public:
  explicit PlainOperator(Matrix values) : values_(std::move(values)) {}
  Index rows() const override { return values_.rows(); }
  Index cols() const override { return values_.cols(); }
  Cost cost() const override {
    const auto size = static_cast<double>(values_.size());
    return {values_.size(), 8 * values_.size(), size, static_cast<double>(values_.rows())};
  }
  std::string description() const override { return "plain"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    Y = values_.rowwise().reverse().lazyProduct(X.colwise().reverse());
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    Y = values_.transpose().rowwise().reverse().lazyProduct(X.colwise().reverse());
  }
  Matrix values_;
};

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
}

MeasureOptions errors_only() {
  MeasureOptions options;
  options.time_products = false;
  return options;
}

MeasureOptions estimated(std::uint64_t seed = 1) {
  MeasureOptions options = errors_only();
  options.exact_limit = 0;
  options.spectral_iterations = 0;
  options.seed = seed;
  return options;
}

template <class Callable>
std::string message_of(Callable call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no exception";
}

TEST(Measure, ExactErrorIsTheNormOfTheDifference) {
  for (const auto& [rows, cols] :
       {std::pair<Index, Index>{1, 1}, {5, 7}, {100, 64}, {70, 65}, {3, 200}}) {
    const Matrix a = random_matrix(rows, cols, 1);
    const Matrix b = random_matrix(rows, cols, 2);
    const PlainOperator A(a);
    const Measurement measured = measure(A, PlainOperator(b), describe(A), errors_only());
    EXPECT_TRUE(measured.error_is_exact);
    EXPECT_NEAR(measured.error_frobenius, (a - b).norm(), 1e-14 * a.norm() * 10)
        << rows << " x " << cols;
    EXPECT_NEAR(*measured.relative_error, (a - b).norm() / a.norm(), 1e-13);
    EXPECT_FALSE(measured.error_interval.has_value());
    EXPECT_TRUE(measured.worse_than_zero || (a - b).norm() <= a.norm());
  }
}

TEST(Measure, SameBitsForAnyNumberOfThreads) {
  const PlainOperator A(random_matrix(80, 300, 3));
  const PlainOperator B(random_matrix(80, 300, 4));
  const int before = threads();
  std::vector<Measurement> exact;
  std::vector<Measurement> guessed;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    exact.push_back(measure(A, B, describe(A), errors_only()));
    guessed.push_back(measure(A, B, describe(A), estimated()));
  }
  set_threads(before);
  for (const auto* list : {&exact, &guessed}) {
    for (const Measurement& other : *list) {
      EXPECT_EQ(other.error_frobenius, list->front().error_frobenius);
      EXPECT_EQ(other.spectral_error_lower, list->front().spectral_error_lower);
    }
  }
}

TEST(Measure, HugeAndTinyEntriesNeitherOverflowNorVanish) {
  const Matrix a = random_matrix(40, 90, 5);
  const Matrix b = random_matrix(40, 90, 6);
  const double expected = (a - b).norm() / a.norm();
  for (const double scale : {1e150, 1e-150, 1e-200, 1e200}) {
    const PlainOperator A(a * scale);
    const PlainOperator B(b * scale);
    const MatrixFacts facts = describe(A);
    EXPECT_NEAR(facts.frobenius_norm / scale, a.norm(), 1e-12 * a.norm());
    EXPECT_NEAR(*measure(A, B, facts, errors_only()).relative_error, expected, 1e-12) << scale;
    EXPECT_NEAR(*measure(A, B, facts, estimated()).relative_error, expected, 0.2 * expected)
        << scale;
  }
}

TEST(Measure, ZeroMatrixHasRelativeErrorZeroOrNone) {
  const PlainOperator zero(Matrix::Zero(6, 6));
  const PlainOperator ones(Matrix::Ones(6, 6));
  const MatrixFacts facts = describe(zero);
  EXPECT_EQ(facts.frobenius_norm, 0);
  EXPECT_EQ(facts.nonzeros, 0);
  EXPECT_EQ(measure(zero, zero, facts, errors_only()).relative_error, 0.0);
  const Measurement measured = measure(zero, ones, facts, errors_only());
  EXPECT_FALSE(measured.relative_error.has_value());
  EXPECT_NEAR(measured.error_frobenius, 6, 1e-14);
  EXPECT_TRUE(measured.worse_than_zero);
}

TEST(Measure, WorseThanZeroIsAnErrorAboveTheNorm) {
  const Matrix a = random_matrix(9, 9, 7);
  const PlainOperator A(a);
  EXPECT_TRUE(measure(A, PlainOperator(-a), describe(A), errors_only()).worse_than_zero);
  EXPECT_FALSE(measure(A, PlainOperator(0.5 * a), describe(A), errors_only()).worse_than_zero);
}

TEST(Measure, SpectralBoundIsBelowAndNearTheLargestSingularValue) {
  const Matrix a = random_matrix(60, 45, 8);
  const Matrix b = random_matrix(60, 45, 9);
  const double largest = kernels::singular_values(a - b)(0);
  const PlainOperator A(a);
  const double bound =
      measure(A, PlainOperator(b), describe(A), errors_only()).spectral_error_lower.value();
  EXPECT_LE(bound, largest * (1 + 1e-13));
  EXPECT_GE(bound, 0.97 * largest);
}

// The products of the two operators differ by rounding, although their entries are equal.
TEST(Measure, NoSpectralBoundOfADifferenceThatIsRounding) {
  for (const double scale : {1.0, 1e150, 1e-150}) {
    const Matrix a = scale * random_matrix(300, 200, 8);
    const PlainOperator A(a);
    const DenseOperator B(a);
    const Matrix v = random_matrix(200, 1, 3);
    ASSERT_GT((A.apply(v) - B.apply(v)).stableNorm(), 0.0);
    const Measurement exact = measure(A, B, describe(A), errors_only());
    ASSERT_EQ(exact.error_frobenius, 0.0);
    EXPECT_EQ(exact.spectral_error_lower.value_or(0), 0.0) << scale;
    MeasureOptions estimated = errors_only();
    estimated.exact_limit = 0;
    EXPECT_EQ(measure(A, B, describe(A), estimated).spectral_error_lower.value_or(0), 0.0) << scale;
  }
}

TEST(Measure, SpectralBoundIsNotAboveTheFrobeniusError) {
  const Matrix a = random_matrix(120, 90, 8);
  const Matrix direction = random_matrix(120, 1, 9) * random_matrix(90, 1, 10).transpose();
  for (const double size : {1.0, 1e-6, 1e-12, 1e-14, 1e-16}) {
    const DenseOperator B(a + size * direction);
    const PlainOperator A(a);
    const Measurement measured = measure(A, B, describe(A), errors_only());
    EXPECT_LE(measured.spectral_error_lower.value_or(0), measured.error_frobenius) << size;
    if (size < 1e-12) continue;
    EXPECT_GE(measured.spectral_error_lower.value(), 0.97 * measured.error_frobenius) << size;
  }
}

TEST(Measure, EstimateCoversTheTruthAsOftenAsItSays) {
  // One dominant direction: the hardest case for an interval from 64 samples.
  Matrix difference = 0.05 * random_matrix(30, 80, 10);
  difference += random_matrix(30, 1, 11) * random_matrix(80, 1, 12).transpose();
  const PlainOperator A(difference);
  const PlainOperator zero(Matrix::Zero(30, 80));
  const MatrixFacts facts = describe(A);
  int covered = 0;
  constexpr int kTrials = 200;
  for (int trial = 0; trial < kTrials; ++trial) {
    const Measurement measured =
        measure(A, zero, facts, estimated(static_cast<std::uint64_t>(trial) + 1));
    ASSERT_FALSE(measured.error_is_exact);
    ASSERT_TRUE(measured.error_interval.has_value());
    const auto [low, high] = *measured.error_interval;
    EXPECT_LT(low, measured.error_frobenius);
    EXPECT_LT(measured.error_frobenius, high);
    EXPECT_LT(high / low, 3);
    covered += low <= difference.norm() && difference.norm() <= high;
  }
  // 95 % nominal, about 94 % for a chi-squared sample; 178 lies three standard deviations below,
  // and a 99.9 % interval (too wide to be called 95 %) would cover more than 199.
  EXPECT_GE(covered, 178);
  EXPECT_LE(covered, 199);
}

TEST(Measure, EstimateOfNoErrorIsZero) {
  const PlainOperator A(random_matrix(20, 20, 13));
  const Measurement measured = measure(A, A, describe(A), estimated());
  EXPECT_EQ(measured.error_frobenius, 0);
  EXPECT_EQ(measured.error_interval, std::make_pair(0.0, 0.0));
}

TEST(Measure, NamesRowAndColumnOfWhatIsNotFinite) {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Matrix a = random_matrix(10, 100, 14);
    const PlainOperator good(a);
    a(2, 70) = bad;
    const PlainOperator A(a);
    const MatrixFacts facts = describe(good);
    EXPECT_THAT(message_of([&] { describe(A); }), HasSubstr("row 3, column 71"));
    EXPECT_THAT(message_of([&] { measure(A, good, facts, errors_only()); }),
                HasSubstr("row 3, column 71"));
    EXPECT_THAT(message_of([&] { measure(good, A, facts, errors_only()); }),
                HasSubstr("row 3, column 71"));
    EXPECT_THAT(message_of([&] { measure(good, A, facts, estimated()); }),
                HasSubstr("row 3, column 71"));
    EXPECT_THAT(message_of([&] { describe(A, estimated()); }), HasSubstr("row 3, column 71"));
    EXPECT_THROW(describe(A), NumericalError);
  }
}

TEST(Measure, RefusesOtherShapesAndTooFewProbes) {
  const PlainOperator A(random_matrix(4, 5, 15));
  const PlainOperator B(random_matrix(5, 4, 15));
  const MatrixFacts facts = describe(A);
  EXPECT_THAT(message_of([&] { measure(A, B, facts); }), HasSubstr("4 x 5"));
  MeasureOptions options = estimated();
  options.probes = 7;
  EXPECT_THROW(measure(A, A, facts, options), InvalidArgument);
}

TEST(Measure, StopsWhenAsked) {
  const PlainOperator A(random_matrix(10, 10, 16));
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_THROW(measure(A, A, describe(A), errors_only(), control), Interrupted);
  EXPECT_THROW(describe(A, {}, control), Interrupted);
}

TEST(Measure, TimesAreThoseOfProducts) {
  const PlainOperator small(random_matrix(8, 8, 17));
  const PlainOperator large(random_matrix(700, 700, 17));
  EXPECT_GT(time_product(small, 1).value(), 0);
  EXPECT_GT(time_product(large, 64).value(), 4 * time_product(small, 64).value());
}

TEST(Measure, LeavesOutProductsThatNeedMoreMemoryThanTheyMayTake) {
  const Index rows = 5000000;  // 2.4 GiB with 64 columns
  const SparseOperator thin{SparseMatrix(rows, 1)};
  EXPECT_FALSE(time_product(thin, 64, 0).has_value());
  EXPECT_TRUE(time_product(thin, 1, 0).has_value());
}

TEST(Describe, CountsNonzerosAndSeesSymmetry) {
  Matrix a = Matrix::Zero(130, 130);
  a(0, 129) = a(129, 0) = 2;
  a(64, 64) = -1;
  const MatrixFacts facts = describe(PlainOperator(a));
  EXPECT_EQ(facts.nonzeros, 3);
  EXPECT_TRUE(facts.symmetric);
  EXPECT_TRUE(facts.norm_is_exact);
  EXPECT_DOUBLE_EQ(facts.frobenius_norm, 3);
  a(0, 129) = 2.5;
  EXPECT_FALSE(describe(PlainOperator(a)).symmetric);
  EXPECT_FALSE(describe(PlainOperator(Matrix::Ones(2, 3))).symmetric);
}

TEST(Describe, EstimatesTheNormWhereAPassCostsTooMuch) {
  const Matrix a = random_matrix(200, 150, 18);
  const MatrixFacts facts = describe(PlainOperator(a), estimated());
  EXPECT_FALSE(facts.norm_is_exact);
  EXPECT_FALSE(facts.nonzeros.has_value());
  EXPECT_NEAR(facts.frobenius_norm, a.norm(), 0.05 * a.norm());
  EXPECT_NE(facts.frobenius_norm, a.norm());
}

TEST(StudentQuantile, AgreesWithTables) {
  EXPECT_NEAR(student_quantile(7), 2.36462, 2e-3);
  EXPECT_NEAR(student_quantile(10), 2.22814, 5e-4);
  EXPECT_NEAR(student_quantile(30), 2.04227, 2e-5);
  EXPECT_NEAR(student_quantile(63), 1.99834, 2e-5);
}

TEST(PanelNorm, SurvivesSubnormalsAndTheLargestNumbers) {
  EXPECT_EQ(report::panel_norm(Matrix::Zero(3, 0)), 0);
  EXPECT_DOUBLE_EQ(report::panel_norm(Matrix::Constant(2, 2, 1e307)), 2e307);
  EXPECT_DOUBLE_EQ(report::panel_norm(Matrix::Constant(2, 2, 1e-310)), 2e-310);
  EXPECT_DOUBLE_EQ(report::combined_norm(std::vector<double>{3e200, 4e200}), 5e200);
}

TEST(Measure, RefusesWhatIsNotFinite) {
  // Each entry is finite, but the difference of two of them, or the norm, is not.
  const PlainOperator large(Matrix::Constant(2, 2, 1.5e308));
  const PlainOperator negative(Matrix::Constant(2, 2, -1.5e308));
  const PlainOperator small(Matrix::Constant(2, 2, 1e-320));
  const PlainOperator one(Matrix::Constant(2, 2, 1.0));
  EXPECT_THAT([&] { describe(large); },
              testing::ThrowsMessage<NumericalError>(HasSubstr("|A|_F is beyond")));
  MatrixFacts facts = describe(one);
  EXPECT_THAT([&] { measure(large, negative, facts); },
              testing::ThrowsMessage<NumericalError>(HasSubstr("beyond the range")));
  EXPECT_THAT([&] { measure(one, large, facts); }, testing::Throws<NumericalError>());
  facts = describe(small);
  EXPECT_GT(facts.frobenius_norm, 0);
  EXPECT_THAT([&] { measure(small, one, facts); },
              testing::ThrowsMessage<NumericalError>(HasSubstr("|A - B|_F / |A|_F")));
}

}  // namespace
}  // namespace matapprox
