#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/lazy.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

Matrix normal_matrix(Index rows, Index cols, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
}

double spectral_norm(const Matrix& X) { return kernels::singular_values(X)(0); }

template <class Callable>
std::string refusal_of(const Callable& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

/// Options that estimate every error.
MeasureOptions certified_estimate() {
  MeasureOptions options;
  options.exact_limit = 0;
  options.time_products = false;
  options.certificate = CertificateOptions{};
  return options;
}

TEST(Certificate, BoundsBothNormsOfRectangularErrors) {
  for (const auto& [m, n] : {std::pair<Index, Index>{120, 75}, {75, 120}, {41, 300}}) {
    const Matrix a = normal_matrix(m, n, 1);
    const Matrix b = a + 0.01 * normal_matrix(m, 2, 2) * normal_matrix(n, 2, 3).transpose() +
                     0.01 * normal_matrix(m, n, 4);
    const DenseOperator A(a);
    const DenseOperator B(b);
    const double spectral = spectral_norm(a - b);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Certificate both = certify(A, B, {.seed = seed});
      EXPECT_GE(both.frobenius.value().value, (a - b).norm());
      EXPECT_LE(both.frobenius->value, 1.3 * (a - b).norm());
      EXPECT_EQ(both.frobenius->confidence, 0.99);
      EXPECT_GE(both.spectral.value().value, spectral);
      EXPECT_LE(both.spectral->value, 2 * spectral);
      EXPECT_EQ(both.products, 40);
      EXPECT_EQ(both.passes, 5);

      const Certificate alone = certify(A, B, {.norm = CertifiedNorm::kSpectral, .seed = seed});
      EXPECT_FALSE(alone.frobenius.has_value());
      EXPECT_GE(alone.spectral.value().value, spectral);
      EXPECT_LT(alone.spectral->value, both.spectral->value);
    }
  }
}

TEST(Certificate, MoreConfidenceMeansALargerBound) {
  const DenseOperator A(normal_matrix(90, 90, 5));
  const DenseOperator zero(Matrix::Zero(90, 90));
  double frobenius = 0;
  double spectral = 0;
  for (const double confidence : {1e-6, 0.2, 0.5, 0.95, 0.999, 1 - 1e-9}) {
    const Certificate certificate = certify(A, zero, {.confidence = confidence});
    EXPECT_GE(certificate.frobenius->value, frobenius);
    EXPECT_GE(certificate.spectral->value, spectral);
    frobenius = certificate.frobenius->value;
    spectral = certificate.spectral->value;
  }
  EXPECT_LT(certify(A, zero, {.confidence = 0.5}).frobenius->value, 0.9 * frobenius);
}

TEST(Certificate, UsesFortyProductsInFivePasses) {
  const DenseOperator a(normal_matrix(70, 50, 6));
  const DenseOperator b(normal_matrix(70, 50, 7));
  const CountedOperator A(a);
  const CountedOperator B(b);
  const Certificate certificate = certify(A, B);
  EXPECT_EQ(A.passes(), certificate.passes);
  EXPECT_EQ(B.passes(), certificate.passes);
  EXPECT_DOUBLE_EQ(A.multiplications(), 70.0 * 50.0 * static_cast<double>(certificate.products));
}

TEST(Certificate, FewColumnsOrRowsAreAllMultiplied) {
  for (const auto& [m, n] : {std::pair<Index, Index>{1, 1}, {15, 15}, {40, 90}, {90, 40}, {2, 7}}) {
    const Matrix a = normal_matrix(m, n, 8);
    const Matrix b = normal_matrix(m, n, 9);
    const Certificate certificate = certify(DenseOperator(a), DenseOperator(b));
    EXPECT_NEAR(certificate.frobenius->value, (a - b).norm(), 1e-14 * (a - b).norm());
    EXPECT_NEAR(certificate.spectral->value, spectral_norm(a - b), 1e-13 * (a - b).norm());
    EXPECT_EQ(certificate.frobenius->confidence, 1);
    EXPECT_EQ(certificate.spectral->confidence, 1);
    EXPECT_EQ(certificate.products, std::min(m, n));
    EXPECT_EQ(certificate.passes, 1);
  }
}

// The sketch captures the whole range of the error: only rounding is left to the probes.
TEST(Certificate, IsTheNormItselfForErrorsOfRankUpToEight) {
  for (const Index rank : {1, 3, 8}) {
    const Matrix e = normal_matrix(80, rank, 10) * normal_matrix(100, rank, 11).transpose();
    const DenseOperator zero(Matrix::Zero(80, 100));
    const Certificate certificate = certify(DenseOperator(e), zero);
    EXPECT_GE(certificate.frobenius->value, e.norm());
    EXPECT_LE(certificate.frobenius->value, (1 + 1e-9) * e.norm());
    EXPECT_GE(certificate.spectral->value, spectral_norm(e));
    EXPECT_LE(certificate.spectral->value, (1 + 1e-9) * spectral_norm(e));
    EXPECT_GT(certificate.rounding, 0);
    EXPECT_LT(certificate.rounding, 1e-12 * e.norm());
  }
}

TEST(Certificate, OfNoErrorIsWhatRoundingMayHide) {
  const Matrix a = normal_matrix(80, 100, 12);
  const Certificate certificate = certify(DenseOperator(a), DenseOperator(a));
  EXPECT_GT(certificate.frobenius->value, 0);
  EXPECT_LT(certificate.frobenius->value, 1e-11 * a.norm());
  const DenseOperator zero(Matrix::Zero(80, 100));
  EXPECT_EQ(certify(zero, zero).frobenius->value, 0);
  EXPECT_EQ(certify(zero, zero).spectral->value, 0);
}

// Entries that differ in their last bit, while the products are rounded more coarsely.
TEST(Certificate, HoldsWhereTheErrorIsRounding) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Matrix a = normal_matrix(200, 200, 20 + seed).array() + 3;
    const Matrix b = a.unaryExpr([](double x) { return std::nextafter(x, 10.0); });
    const Certificate certificate = certify(DenseOperator(a), DenseOperator(b), {.seed = seed});
    EXPECT_GE(certificate.frobenius->value, (a - b).norm());
    EXPECT_GE(certificate.spectral->value, spectral_norm(a - b));
    EXPECT_LT(certificate.frobenius->value, 1e-11 * a.norm());
  }
}

TEST(Certificate, ScalesByPowersOfTwo) {
  const Matrix a = normal_matrix(60, 70, 13);
  const Matrix b = normal_matrix(60, 70, 14);
  const Certificate ordinary = certify(DenseOperator(a), DenseOperator(b));
  for (const int exponent : {-900, -500, -2, 500, 1000}) {
    const double unit = std::ldexp(1.0, exponent);
    const Certificate scaled = certify(DenseOperator(unit * a), DenseOperator(unit * b));
    EXPECT_DOUBLE_EQ(scaled.frobenius->value, unit * ordinary.frobenius->value) << exponent;
    EXPECT_DOUBLE_EQ(scaled.spectral->value, unit * ordinary.spectral->value) << exponent;
  }
  // The error far below and far above the matrix.
  const Certificate small =
      certify(DenseOperator(Matrix(1e-200 * a)), DenseOperator(Matrix(1e200 * a)));
  EXPECT_GE(small.frobenius->value, 1e200 * a.norm());
  EXPECT_LE(small.frobenius->value, 1.3e200 * a.norm());
}

TEST(Certificate, HasTheSameBitsForAnyNumberOfThreads) {
  const DenseOperator A(normal_matrix(700, 600, 15));
  const DenseOperator B(normal_matrix(700, 600, 16));
  const Certificate expected = certify(A, B);
  for (const int count : {1, 3}) {
    const test::ThreadCount threads(count);
    const Certificate again = certify(A, B);
    EXPECT_EQ(again.frobenius->value, expected.frobenius->value);
    EXPECT_EQ(again.spectral->value, expected.spectral->value);
    EXPECT_EQ(again.rounding, expected.rounding);
  }
  EXPECT_NE(certify(A, B, {.seed = 2}).frobenius->value, expected.frobenius->value);
}

TEST(Certificate, RefusesWhatItCannotCertify) {
  const DenseOperator A(normal_matrix(50, 60, 17));
  const DenseOperator B(normal_matrix(60, 50, 17));
  EXPECT_THAT(refusal_of([&] { certify(A, B); }), HasSubstr("50 x 60"));
  for (const double confidence : {0.0, 1.0, -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(refusal_of([&] { certify(A, A, {.confidence = confidence}); }),
                HasSubstr("outside 0..1"));
    MeasureOptions options;
    options.certificate = CertificateOptions{.confidence = confidence};
    EXPECT_THROW(measure(A, A, describe(A), options), InvalidArgument);
  }
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_THROW(certify(A, A, {}, control), Interrupted);
  const DenseOperator huge(Matrix::Constant(50, 60, 1e308));
  const DenseOperator opposite(Matrix::Constant(50, 60, -1e308));
  EXPECT_THROW(certify(huge, opposite), NumericalError);
}

TEST(MeasuredCertificate, StandsBesideAnEstimate) {
  const DenseOperator A(normal_matrix(90, 80, 18));
  const DenseOperator B(normal_matrix(90, 80, 19));
  const MatrixFacts facts = describe(A);
  const Measurement measured = measure(A, B, facts, certified_estimate());
  EXPECT_FALSE(measured.error_is_exact);
  const Certificate& certificate = measured.certificate.value();
  EXPECT_EQ(certificate.frobenius->value, certify(A, B).frobenius->value);
  EXPECT_GT(certificate.frobenius->value, measured.error_interval->first);
  EXPECT_GE(certificate.spectral->value, *measured.spectral_error_lower);
  EXPECT_DOUBLE_EQ(certificate.relative.value(),
                   certificate.frobenius->value / facts.frobenius_norm);
  EXPECT_FALSE(measure(A, B, facts, {.time_products = false}).certificate.has_value());

  // Nothing is certified relative to an estimate.
  MatrixFacts guessed = facts;
  guessed.norm_is_exact = false;
  EXPECT_FALSE(measure(A, B, guessed, certified_estimate()).certificate->relative.has_value());
}

TEST(MeasuredCertificate, IsTheErrorItselfWhereThatIsExact) {
  const DenseOperator a(normal_matrix(90, 80, 18));
  const DenseOperator B(normal_matrix(90, 80, 19));
  const CountedOperator A(a);
  const MatrixFacts facts = describe(A);
  MeasureOptions options = certified_estimate();
  options.exact_limit = 1e11;
  options.spectral_iterations = 0;
  const double before = A.passes();
  const Measurement measured = measure(A, B, facts, options);
  EXPECT_NEAR(A.passes() - before, 1, 1e-12);  // the products for the exact error only
  EXPECT_TRUE(measured.error_is_exact);
  EXPECT_EQ(measured.certificate->frobenius->value, measured.error_frobenius);
  EXPECT_EQ(measured.certificate->frobenius->confidence, 1);
  EXPECT_EQ(measured.certificate->relative, measured.relative_error);
  EXPECT_FALSE(measured.certificate->spectral.has_value());
  EXPECT_EQ(measured.certificate->products, 0);

  options.certificate->norm = CertifiedNorm::kSpectral;
  const Measurement spectral = measure(A, B, facts, options);
  EXPECT_EQ(spectral.certificate->frobenius->value, spectral.error_frobenius);
  EXPECT_EQ(spectral.certificate->frobenius->confidence, 1);
  EXPECT_EQ(spectral.certificate->spectral->confidence, 0.99);
  EXPECT_EQ(spectral.certificate->products, 40);
}

}  // namespace
}  // namespace matapprox
