#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "matapprox/best/best.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/measure/measure.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/eigenpairs.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"
#include "matapprox/solve/solve.hpp"
#include "support/conversions.hpp"
#include "support/known_spectrum.hpp"

// A matrix times a power of 2 is the same matrix in another unit: no choice, stored value or
// relative measurement may depend on the unit, and everything must terminate.

namespace matapprox {
namespace {

constexpr std::array kExponents{-980, -600, -300, -90, 90, 300, 600, 980};

/// A smooth kernel between two sets of points, and noise.
Matrix smooth_and_noisy(Index rows, Index cols) {
  Matrix A = 1e-3 * test::random_matrix(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) {
      const double distance = static_cast<double>(i) / static_cast<double>(rows) -
                              static_cast<double>(j) / static_cast<double>(cols);
      A(i, j) += std::exp(-3 * std::abs(distance));
    }
  }
  return A;
}

Matrix times_power(const Matrix& A, int exponent) {
  return A.unaryExpr([&](double x) { return std::ldexp(x, exponent); });
}

/// |A - B|_F / |A|_F, computed without squares of entries of A.
double relative_distance(const LinearOperator& B, const Matrix& A, int exponent) {
  const Matrix in_units = times_power(A, -exponent);
  return (times_power(test::dense_of(B), -exponent) - in_units).norm() / in_units.norm();
}

struct Case {
  std::string method;
  NamedOptions options;
  Precision precision = Precision::kDouble;
  double target_error = 0;
  bool symmetric = false;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return fmt::format("{}_{}", info.index, info.param.method);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"truncated_svd", {{"rank", "6"}}},
      {"truncated_svd", {{"rank", "6"}, {"algorithm", "krylov"}}},
      {"truncated_svd", {{"rank", "6"}, {"algorithm", "randomized"}}},
      {"truncated_svd",
       {{"rank", "6"}, {"symmetric_storage", "true"}},
       Precision::kDouble,
       0,
       true},
      {"truncated_svd", {}, Precision::kDouble, 1e-2},
      {"truncated_svd", {{"budget", "1500B"}}, Precision::kPacked},
      {"truncated_svd", {}, Precision::kPacked, 1e-2},
      {"truncated_svd",
       {{"budget", "1500B"}, {"symmetric_storage", "true"}},
       Precision::kPacked,
       0,
       true},
      {"nystrom", {{"rank", "6"}}, Precision::kDouble, 0, true},
      {"nystrom", {{"budget", "1200B"}}, Precision::kPacked, 0, true},
      {"jl_projection", {{"rank", "6"}}},
      {"cur", {{"rank", "6"}}},
      {"chord", {{"effort", "fast"}, {"factors", "3"}}, Precision::kDouble, 0, true},
      {"chord", {{"effort", "fast"}, {"factors", "3"}}, Precision::kPacked, 0, true},
      {"hierarchical", {{"budget", "1500B"}}},
      {"hierarchical", {{"frobenius_tolerance", "1e-2"}}},
      {"kronecker", {{"budget", "1500B"}}},
      {"kronecker", {{"frobenius_tolerance", "1e-2"}}},
      {"butterfly", {{"budget", "1500B"}}},
      {"butterfly", {{"frobenius_tolerance", "1e-2"}}},
      {"toeplitz", {}},
      {"transform", {{"budget", "1500B"}}},
      {"transform", {{"frobenius_tolerance", "1e-2"}}},
      {"wavelet", {{"budget", "1500B"}}},
      {"wavelet", {{"frobenius_tolerance", "1e-2"}}},
      {"exact", {}},
  };
  return all;
}

class MethodScale : public testing::TestWithParam<Case> {
 protected:
  static RunResult fit(const Matrix& A) {
    RunControl control;
    control.target_error = GetParam().target_error;
    return run(find_method(GetParam().method),
               DenseOperator(A),
               GetParam().options,
               GetParam().precision,
               control);
  }
  static Matrix matrix() {
    const Matrix A = smooth_and_noisy(40, GetParam().symmetric ? 40 : 33);
    return GetParam().symmetric ? Matrix(A + A.transpose()) : A;
  }
};

TEST_P(MethodScale, APowerOfTwoChangesNothingButTheUnit) {
  const Matrix A = matrix();
  const Approximation expected = fit(A).approximation;
  const double error = relative_distance(expected, A, 0);
  for (const int exponent : kExponents) {
    SCOPED_TRACE(exponent);
    const Matrix scaled = times_power(A, exponent);
    const Approximation found = fit(scaled).approximation;
    EXPECT_EQ(found.storage().bytes, expected.storage().bytes);
    EXPECT_EQ(found.summary.rank, expected.summary.rank);
    EXPECT_NEAR(relative_distance(found, scaled, exponent), error, 1e-9 * error + 1e-14);
    const DenseOperator op(scaled);
    const Measurement measured = measure(op, found, describe(op));
    EXPECT_NEAR(*measured.relative_error, error, 1e-6 * error + 1e-14);
  }
}

TEST_P(MethodScale, ExtremeEntriesEndWithAResultOrAnError) {
  const Index cols = GetParam().symmetric ? 40 : 33;
  Matrix graded = Matrix::Zero(40, cols);
  for (Index i = 0; i < cols; ++i) graded(i, i) = std::pow(10, 300 - 600.0 * i / (cols - 1.0));
  const Matrix ones = Matrix::Ones(40, cols);
  for (const Matrix& A : {times_power(matrix(), -1060),
                          times_power(ones, 995),
                          times_power(ones, -1074),
                          Matrix(0 * ones),
                          graded}) {
    try {
      const RunResult result = fit(A);
      const DenseOperator op(A);
      const Measurement measured = measure(op, result.approximation, describe(op));
      EXPECT_GE(measured.relative_error.value_or(0), 0);
    } catch (const Error&) {
      // A refusal is allowed; the call only has to terminate.
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, MethodScale, testing::ValuesIn(cases()), name_of);

TEST(Scale, BestChoosesTheSameMethodAndBits) {
  const Matrix A = smooth_and_noisy(50, 50);
  for (const Matrix& shape : {Matrix(A.leftCols(37)), Matrix(A + A.transpose())}) {
    for (const BestOptions& options :
         {BestOptions{.budget = parse_budget("6%")},
          BestOptions{.target_error = 1e-2},
          BestOptions{.target_error = 1e-2, .norm = CertifiedNorm::kSpectral},
          BestOptions{.budget = parse_budget("4%"), .methods = "truncated_svd"}}) {
      const BestResult expected = best(DenseOperator(shape), options);
      const double error = *expected.measurement.relative_error;
      for (const int exponent : kExponents) {
        const BestResult found = best(DenseOperator(times_power(shape, exponent)), options);
        EXPECT_EQ(found.candidates[found.chosen].name, expected.candidates[expected.chosen].name);
        EXPECT_EQ(found.approximation.storage().bytes, expected.approximation.storage().bytes)
            << exponent;
        EXPECT_NEAR(*found.measurement.relative_error, error, 1e-9 * error) << exponent;
        EXPECT_EQ(found.target_is_met, expected.target_is_met) << exponent;
      }
    }
  }
}

TEST(Scale, OfFloatsOnlyWhatHasRoomIsStored) {
  const Matrix A = smooth_and_noisy(40, 33);
  const Method& svd = find_method("truncated_svd");
  const NamedOptions rank{{"rank", "6"}};
  for (const Precision precision : {Precision::kFloat, Precision::kFloat16, Precision::kBfloat16}) {
    const DenseOperator one(A);
    const double error = relative_distance(run(svd, one, rank, precision).approximation, A, 0);
    EXPECT_LT(error, 0.1);
    for (const int exponent : {-980, -300, 300, 980}) {
      const DenseOperator scaled(times_power(A, exponent));
      EXPECT_THROW(run(svd, scaled, rank, precision), NumericalError) << exponent;
    }
  }
}

TEST(Scale, OfSparseMatricesIsThatOfDenseOnes) {
  const Matrix A = (smooth_and_noisy(40, 33).array().abs() > 0.6).cast<double>().matrix();
  const SparseMatrix sparse = A.sparseView();
  for (const char* method : {"truncated_svd", "cur", "exact"}) {
    const NamedOptions options =
        std::string(method) == "exact" ? NamedOptions{} : NamedOptions{{"rank", "5"}};
    const Approximation expected =
        run(find_method(method), SparseOperator(sparse), options).approximation;
    const double error = relative_distance(expected, A, 0);
    for (const int exponent : kExponents) {
      const Matrix scaled = times_power(A, exponent);
      const SparseMatrix entries = scaled.sparseView(1, 0);
      const Approximation found =
          run(find_method(method), SparseOperator(entries), options).approximation;
      if (std::string(method) != "exact") {
        EXPECT_EQ(found.storage().bytes, expected.storage().bytes) << method;
      }
      EXPECT_NEAR(relative_distance(found, scaled, exponent), error, 1e-9 * error + 1e-14)
          << method << " " << exponent;
    }
  }
}

TEST(Scale, CertificatesAndNormsScale) {
  const Matrix A = smooth_and_noisy(60, 57);
  const Matrix B = A + 1e-4 * test::random_matrix(60, 57, 9);
  const Certificate expected = certify(DenseOperator(A), DenseOperator(B));
  for (const int exponent : kExponents) {
    const DenseOperator scaled(times_power(A, exponent));
    const DenseOperator other(times_power(B, exponent));
    const Certificate found = certify(scaled, other);
    EXPECT_DOUBLE_EQ(std::ldexp(found.frobenius->value, -exponent), expected.frobenius->value);
    EXPECT_DOUBLE_EQ(std::ldexp(found.spectral->value, -exponent), expected.spectral->value);
    const MatrixFacts facts = describe(scaled);
    EXPECT_NEAR(std::ldexp(facts.frobenius_norm, -exponent), A.norm(), 1e-14 * A.norm());
    const Measurement measured = measure(scaled, other, facts);
    EXPECT_NEAR(*measured.relative_error, (A - B).norm() / A.norm(), 1e-13);
  }
}

TEST(Scale, SolversAndEigenvaluesEnd) {
  const Matrix G = smooth_and_noisy(40, 40);
  const Matrix A = G * G.transpose() + Matrix::Identity(40, 40);
  for (const int exponent : {-1060, -980, -300, 300, 980}) {
    const Matrix scaled = times_power(A, exponent);
    const SparseMatrix entries = scaled.sparseView(1, 0);
    for (const double size : {1e-300, 1.0, 1e300}) {
      try {
        const SolveResult result = solve(DenseOperator(scaled), Vector::Constant(40, size));
        EXPECT_LE(result.iterations, 10000);
      } catch (const Error&) {
        // A refusal is allowed; the call only has to terminate.
      }
    }
    try {
      EXPECT_LE(nearest_eigenpairs(entries, {.count = 3}).values.size(), 3);
    } catch (const Error&) {
      // The solver is not built, or refuses.
    }
  }
}

}  // namespace
}  // namespace matapprox
