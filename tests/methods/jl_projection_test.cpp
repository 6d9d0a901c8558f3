#include "matapprox/methods/jl_projection.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/lazy.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr ProjectionKind kKinds[] = {ProjectionKind::kGaussian,
                                     ProjectionKind::kRademacher,
                                     ProjectionKind::kSparse,
                                     ProjectionKind::kSrht};

class JlKind : public ::testing::TestWithParam<ProjectionKind> {};
INSTANTIATE_TEST_SUITE_P(All, JlKind, ::testing::ValuesIn(kKinds), [](const auto& chosen) {
  return std::string(enum_name(chosen.param));
});

// E[A R^T R] = A: the mean of each entry over many seeds is within 5 standard errors, estimated
// from the same samples. For 30 entries that fails by chance once in 50000 runs; the seeds are
// fixed.
TEST_P(JlKind, IsUnbiased) {
  const Matrix A = test::random_matrix(5, 6);
  constexpr int kSamples = 2000;
  Matrix sum = Matrix::Zero(5, 6);
  Matrix squares = Matrix::Zero(5, 6);
  const DenseOperator op(A);
  for (int seed = 1; seed <= kSamples; ++seed) {
    const Matrix X = test::dense_of(jl_projection(
        op, {.rank = 3, .kind = GetParam(), .seed = static_cast<std::uint64_t>(seed)}));
    sum += X;
    squares += X.cwiseAbs2();
  }
  const Matrix mean = sum / kSamples;
  const Matrix variance = squares / kSamples - mean.cwiseAbs2();
  const Matrix bound = 5 * (variance / kSamples).cwiseSqrt();
  EXPECT_TRUE(((mean - A).cwiseAbs().array() <= bound.array()).all()) << mean - A;
  EXPECT_GT(variance.minCoeff(), 0.0);
}

// R^T keeps all distances among the rows of A at the dimension that jl_dimension gives.
TEST_P(JlKind, KeepsDistances) {
  constexpr double kDistortion = 0.5;
  const Index k = jl_dimension(20, kDistortion);
  ASSERT_EQ(k, 144);  // 4 ln 20 / (1/8 - 1/24) = 143.8
  const Matrix A = test::random_matrix(20, 400);
  const auto found = jl_projection(DenseOperator(A), {.rank = k, .kind = GetParam()});
  const auto& sketch = std::get<Matrix>(*found.factors()[0].value);
  for (Index i = 0; i < 20; ++i) {
    for (Index j = 0; j < i; ++j) {
      const double ratio =
          (sketch.row(i) - sketch.row(j)).squaredNorm() / (A.row(i) - A.row(j)).squaredNorm();
      EXPECT_GT(ratio, 1 - kDistortion);
      EXPECT_LT(ratio, 1 + kDistortion);
    }
  }
}

TEST_P(JlKind, SameSeedSameBitsForEveryThreadCount) {
  const DenseOperator A(test::random_matrix(150, 130));
  Matrix first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    const Matrix found =
        test::dense_of(jl_projection(A, {.rank = 20, .kind = GetParam(), .seed = 3}));
    if (count == 1) first = found;
    EXPECT_SAME_BITS(found, first);
  }
}

TEST(JlProjection, StoresTheSketchOnlyInOnePass) {
  const DenseOperator A(test::random_matrix(30, 50));
  const CountedOperator counted(A);
  const auto found = jl_projection(counted, {.rank = 7});
  EXPECT_EQ(counted.passes(), 1.0);
  EXPECT_EQ(found.storage().numbers, 30 * 7);
  EXPECT_EQ(found.summary.rank, 7);
  EXPECT_EQ(jl_projection(A, {.budget = parse_budget("100")}).summary.rank, 3);
}

TEST(JlProjection, SmallAndZero) {
  EXPECT_EQ(test::dense_of(jl_projection(DenseOperator(Matrix::Zero(4, 4)), {.rank = 2})).norm(),
            0.0);
  EXPECT_EQ(jl_projection(DenseOperator(Matrix::Ones(1, 1)), {}).summary.rank, 1);
  const auto sign = jl_projection(DenseOperator(Matrix::Ones(2, 1)),
                                  {.rank = 1, .kind = ProjectionKind::kRademacher});
  EXPECT_TRUE(test::within(test::dense_of(sign), Matrix::Ones(2, 1), 0.0));  // R^T R = 1
}

TEST(JlDimension, LinformerAsksForMoreAndIsVacuousForSmallDistortions) {
  EXPECT_EQ(linformer_dimension(512, 0.1), 3466);  // 5 ln 512 / 0.009
  EXPECT_EQ(linformer_dimension(512, 0.25), 666);
  EXPECT_EQ(linformer_dimension(512, 0.5), 250);
  // The minimum over all distortions is at 2/3.
  EXPECT_EQ(linformer_dimension(512, 2.0 / 3), 211);
  EXPECT_GT(linformer_dimension(512, 0.6), 211);
  EXPECT_GT(linformer_dimension(512, 0.75), 211);
  EXPECT_REFUSED(InvalidArgument, linformer_dimension(1, 0.5), "at least 2");
  EXPECT_REFUSED(InvalidArgument, linformer_dimension(9, 1e-12), "too small");
}

TEST(JlProjection, Refusals) {
  const DenseOperator A(test::random_matrix(4, 6));
  EXPECT_REFUSED(InvalidArgument, jl_projection(A, {.rank = 7}), "rank 7 is outside 1..6");
  EXPECT_REFUSED(BudgetTooSmall, jl_projection(A, {.budget = parse_budget("3")}), "4 numbers");
  EXPECT_REFUSED(InvalidArgument, jl_dimension(1, 0.5), "at least 2");
  EXPECT_REFUSED(InvalidArgument, jl_dimension(10, 0.0), "epsilon 0");
  EXPECT_REFUSED(InvalidArgument, jl_dimension(10, 1.0), "epsilon 1");
}

// R^T is applied without a product; the bits are those of a product with the identity.
TEST_P(JlKind, SketchIsTheProductWithTheTransposeOfR) {
  const Matrix A = test::random_matrix(3, 1100);
  const Approximation found = jl_projection(DenseOperator(A), {.rank = 7, .kind = GetParam()});
  const RandomProjection R(GetParam(), 1, 7, 1100);
  const Matrix expected = DenseOperator(A).apply(R.apply_transpose(Matrix::Identity(7, 7)));
  EXPECT_SAME_BITS(std::get<Matrix>(*found.factors().front().value), expected);
}

}  // namespace
}  // namespace matapprox
