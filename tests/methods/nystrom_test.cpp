#include "matapprox/methods/nystrom.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/recorder.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr LandmarkSampling kLandmarkSamplings[] = {LandmarkSampling::kPivotedCholesky,
                                                   LandmarkSampling::kUniform,
                                                   LandmarkSampling::kLeverage,
                                                   LandmarkSampling::kKMeans};

/// Points in clusters of very different sizes, some of which uniform sampling misses.
Matrix clustered_points(Index n, Index clusters) {
  Matrix points = 0.3 * test::random_matrix(n, 3, 11);
  const Matrix centers = 6.0 * test::random_matrix(clusters, 3, 12);
  for (Index i = 0; i < n; ++i) {
    // Cluster 0 contains most points.
    const Index cluster = i < n - 4 * (clusters - 1) ? 0 : 1 + (i % (clusters - 1));
    points.row(i) += centers.row(cluster);
  }
  return points;
}

KernelOperator clustered_kernel() {
  return KernelOperator(clustered_points(240, 15), {.bandwidth = 1.5});
}

class NystromSampling : public ::testing::TestWithParam<LandmarkSampling> {};
INSTANTIATE_TEST_SUITE_P(All,
                         NystromSampling,
                         ::testing::ValuesIn(kLandmarkSamplings),
                         [](const auto& chosen) { return std::string(enum_name(chosen.param)); });

TEST_P(NystromSampling, EqualsTheFormulaOnItsLandmarks) {
  const KernelOperator K = clustered_kernel();
  const Matrix A = test::dense_of(K);
  const auto found = nystrom(K, {.rank = 12, .sampling = GetParam()});
  EXPECT_EQ(found.summary.form, "psd");
  EXPECT_EQ(found.summary.rank, 12);
  EXPECT_EQ(found.storage().numbers, 240 * 12 + 144);
  const auto& C = std::get<Matrix>(*found.factors()[0].value);
  EXPECT_SAME_BITS(C, Matrix(A(Eigen::all, found.summary.chosen_columns)));
  EXPECT_EQ(found.summary.chosen_rows, found.summary.chosen_columns);
  std::vector<Index> J;
  for (Index c = 0; c < 12; ++c) {
    for (Index j = 0; j < 240; ++j) {
      if (A.col(j) == C.col(c)) J.push_back(j);
    }
  }
  ASSERT_EQ(J.size(), 12U);
  const Matrix W = A(J, J);
  const Matrix expected = C * W.completeOrthogonalDecomposition().pseudoInverse() * C.transpose();
  EXPECT_CLOSE(test::dense_of(found), expected, 1e-9);
  // A - C W^+ C^T is positive semidefinite: it never exceeds A.
  const Vector left =
      Eigen::SelfAdjointEigenSolver<Matrix>(A - test::dense_of(found)).eigenvalues();
  EXPECT_GE(left(0), -1e-10 * A.norm());
}

TEST_P(NystromSampling, SameSeedSameBitsForEveryThreadCount) {
  const KernelOperator K = clustered_kernel();
  Matrix first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    const Matrix found =
        test::dense_of(nystrom(K, {.rank = 20, .sampling = GetParam(), .seed = 9}));
    if (count == 1) first = found;
    EXPECT_SAME_BITS(found, first);
  }
}

TEST_P(NystromSampling, AllLandmarksRecoverTheMatrix) {
  const KernelOperator K(test::random_matrix(30, 2), {.bandwidth = 0.3});
  const Matrix A = test::dense_of(K);
  EXPECT_LE(test::frobenius_error(A, nystrom(K, {.rank = 30, .sampling = GetParam()})),
            1e-8 * A.norm());
}

TEST(Nystrom, PivotedCholeskyFindsSmallClusters) {
  const KernelOperator K = clustered_kernel();
  const double trace = 240;
  double pivoted = 0;
  double uniform = 0;
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto residual = [&](LandmarkSampling sampling) {
      return trace - nystrom(K, {.rank = 20, .sampling = sampling, .seed = seed}).diagonal().sum();
    };
    pivoted += residual(LandmarkSampling::kPivotedCholesky);
    uniform += residual(LandmarkSampling::kUniform);
  }
  // For uniform sampling against itself the ratio would be near 1; 0.5 is far from that for five
  // seeds.
  EXPECT_LT(pivoted, 0.5 * uniform);
}

// Chen, Epperly, Tropp, Webber (2022): k >= r/eps + r ln(1/(eps eta)) landmarks suffice for an
// expected trace error of (1 + eps) times that of the best rank r, where eta is its fraction of the
// trace.
TEST(Nystrom, PivotedCholeskyKeepsItsTraceBound) {
  const Vector lambda = test::geometric_spectrum(200, 1.5);
  const Matrix A = test::with_eigenvalues(lambda);
  constexpr Index kBest = 5;
  const double tail = lambda.tail(200 - kBest).sum();
  const double eta = tail / lambda.sum();
  const auto k = static_cast<Index>(std::ceil(kBest / 1.0 + kBest * std::log(1.0 / eta)));
  double mean = 0;
  constexpr int kSeeds = 20;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    mean += (lambda.sum() - nystrom(DenseOperator(A), {.rank = k, .seed = seed}).diagonal().sum()) /
            kSeeds;
  }
  EXPECT_LE(mean, 2 * tail);
  EXPECT_GE(mean, lambda.tail(200 - k).sum());
}

std::vector<test::Checkpoint> points_of(const LinearOperator& A, const NystromOptions& options) {
  test::Recorder recorder;
  nystrom(A, options, recorder.control);
  return recorder.checkpoints;
}

Approximation resumed_nystrom(const LinearOperator& A,
                              const NystromOptions& options,
                              const ResumeState& state) {
  return nystrom(A, options, test::going_on_from(state));
}

TEST(Nystrom, ResumesFromAnyCheckpointToTheSameBits) {
  const KernelOperator A(test::random_matrix(300, 2), {.bandwidth = 0.3});
  const NystromOptions options{.rank = 60};
  const Approximation whole = nystrom(A, options);
  const std::vector<test::Checkpoint> points = points_of(A, options);
  ASSERT_GE(points.size(), 4U);
  for (const test::Checkpoint& point : points) {
    const Approximation found = resumed_nystrom(A, options, point.state);
    EXPECT_EQ(found.summary.chosen_columns, whole.summary.chosen_columns);
    EXPECT_EQ(found.summary.iterations, whole.summary.iterations);
    EXPECT_SAME_BITS(test::dense_of(found), test::dense_of(whole));
    // The approximation of a checkpoint uses the first of the landmarks.
    const auto count = static_cast<std::ptrdiff_t>(point.best.summary.rank);
    const std::vector<Index> first(whole.summary.chosen_columns.begin(),
                                   whole.summary.chosen_columns.begin() + count);
    EXPECT_EQ(point.best.summary.chosen_columns, first);
    EXPECT_EQ(point.best.summary.message, std::to_string(count) + " of 60 landmarks so far");
    EXPECT_CLOSE(
        test::dense_of(point.best), test::dense_of(nystrom(A, {.landmarks = first})), 1e-9);
  }
}

TEST(Nystrom, IsSavedWhereItIsStopped) {
  const KernelOperator A(test::random_matrix(300, 2), {.bandwidth = 0.3});
  const NystromOptions options{.rank = 60};
  test::Recorder recorder(3);
  EXPECT_REFUSED(Interrupted, nystrom(A, options, recorder.control), "nystrom");
  ASSERT_FALSE(recorder.checkpoints.empty());
  const ResumeState& state = recorder.checkpoints.back().state;
  EXPECT_EQ(state.counter("rounds"), 3);
  EXPECT_SAME_BITS(test::dense_of(resumed_nystrom(A, options, state)),
                   test::dense_of(nystrom(A, options)));
}

// A state that shows the matrix to be indefinite is not written as a checkpoint.
TEST(Nystrom, WritesNoCheckpointOfAnIndefiniteMatrix) {
  Matrix A = test::random_matrix(400, 400);
  A = (A + A.transpose()).eval() / 14;
  A.diagonal().setConstant(1);
  const DenseOperator matrix(A);
  const NystromOptions options{.rank = 100};
  EXPECT_EQ(nystrom(matrix, options).summary.form, "generalized");
  for (const test::Checkpoint& point : points_of(matrix, options))
    EXPECT_GE(point.state.array("diagonal").minCoeff(), 0);
}

TEST(Nystrom, RefusesAStateThatContradictsItself) {
  const KernelOperator A(test::random_matrix(300, 2), {.bandwidth = 0.3});
  const NystromOptions options{.rank = 60};
  const ResumeState state = points_of(A, options)[1].state;
  for (std::size_t i = 0; i < state.counters.size(); ++i) {
    for (const Index value : {Index{-1}, Index{1} << 60}) {
      ResumeState damaged = state;
      damaged.counters[i].second = value;
      EXPECT_REFUSED(InvalidArgument, resumed_nystrom(A, options, damaged), "")
          << state.counters[i].first;
    }
  }
  for (std::size_t i = 0; i < state.arrays.size(); ++i) {
    ResumeState damaged = state;
    Vector& numbers = damaged.arrays[i].second;
    numbers(0) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_REFUSED(InvalidArgument, resumed_nystrom(A, options, damaged), "")
        << state.arrays[i].first;
    numbers = numbers.tail(numbers.size() - 1).eval();
    EXPECT_REFUSED(InvalidArgument, resumed_nystrom(A, options, damaged), "")
        << state.arrays[i].first;
  }
  const KernelOperator larger(test::random_matrix(301, 2), {.bandwidth = 0.3});
  EXPECT_REFUSED(InvalidArgument, resumed_nystrom(larger, options, state), "resume");
  EXPECT_REFUSED(InvalidArgument, resumed_nystrom(A, {.rank = 5}, state), "resume");
  const NystromOptions uniform{.rank = 60, .sampling = LandmarkSampling::kUniform};
  EXPECT_REFUSED(InvalidArgument, resumed_nystrom(A, uniform, state), "another sampling");
}

TEST(Nystrom, RecoversAPsdMatrixOfLowRank) {
  Vector lambda = Vector::Zero(80);
  lambda.head(6) << 5, 4, 4, 1, 0.1, 0.01;
  const Matrix A = test::with_eigenvalues(lambda);
  const auto found = nystrom(DenseOperator(A), {.rank = 20, .form = NystromForm::kPsd});
  EXPECT_LE(test::frobenius_error(A, found), 1e-9 * A.norm());
  EXPECT_LT(found.summary.rank, 20);  // the method detects that nothing is left
  EXPECT_NE(found.summary.message.find("only rounding"), std::string::npos);
}

// W is singular to working precision: the stored root keeps products accurate.
TEST(Nystrom, StaysAccurateWhereLandmarksAreNearlyDependent) {
  Matrix points(300, 1);
  for (Index i = 0; i < 300; ++i) points(i, 0) = static_cast<double>(i) / 300;
  const KernelOperator K(points, {.bandwidth = 0.5});
  const Matrix A = test::dense_of(K);
  for (const LandmarkSampling sampling :
       {LandmarkSampling::kPivotedCholesky, LandmarkSampling::kUniform}) {
    EXPECT_LE(test::frobenius_error(A, nystrom(K, {.rank = 40, .sampling = sampling})),
              1e-8 * A.norm())
        << enum_name(sampling);
  }
}

TEST(Nystrom, EntriesNearTheEndsOfTheRange) {
  const Matrix A = test::with_eigenvalues(test::geometric_spectrum(40, 2));
  const double expected = test::frobenius_error(A, nystrom(DenseOperator(A), {.rank = 10}));
  for (const double scale : {0x1p500, 0x1p-500}) {
    const auto found = nystrom(DenseOperator(A * scale), {.rank = 10});
    EXPECT_NEAR((A - test::dense_of(found) / scale).norm(), expected, 1e-9) << scale;
    const auto general =
        nystrom(DenseOperator(A * scale), {.rank = 39, .form = NystromForm::kGeneralized});
    EXPECT_LE((A - test::dense_of(general) / scale).norm(), 1e-8) << scale;
  }
}

TEST(Nystrom, OwnLandmarks) {
  const KernelOperator K = clustered_kernel();
  const auto found = nystrom(K, {.landmarks = {3, 100, 239}});
  EXPECT_EQ(found.summary.rank, 3);
  const Matrix A = test::dense_of(K);
  // The approximation is exact in the columns of the landmarks.
  for (const Index j : {3, 100, 239}) {
    EXPECT_TRUE(test::within(test::dense_of(found).col(j), A.col(j), 1e-12));
  }
  EXPECT_REFUSED(InvalidArgument, nystrom(K, {.landmarks = {3, 240}}), "landmark 240 is outside");
  EXPECT_REFUSED(InvalidArgument, nystrom(K, {.landmarks = {3, 3}}), "landmark 3 is given twice");
}

TEST(Nystrom, AutoTakesTheGeneralizedFormWhereAIsNotPsd) {
  Vector lambda = test::harmonic_spectrum(60);
  lambda(3) = -lambda(3);
  struct Case {
    Matrix A;
    const char* reason;
  };
  Matrix adjacency = Matrix::Zero(40, 40);
  for (Index i = 0; i + 1 < 40; ++i) adjacency(i, i + 1) = adjacency(i + 1, i) = 1;
  Matrix negative = Matrix::Identity(30, 30);
  negative(4, 4) = -1;
  Matrix hidden =
      Matrix::Ones(20, 20) * 2 - Matrix::Identity(20, 20);  // W has a negative eigenvalue
  for (const Case& c : {Case{test::random_matrix(50, 50), "not symmetric"},
                        Case{adjacency, "diagonal is zero"},
                        Case{negative, "diagonal has"},
                        Case{hidden, "fell to"}}) {
    const DenseOperator A(c.A);
    const auto found = nystrom(A, {.rank = 10});
    EXPECT_EQ(found.summary.form, "generalized") << c.reason;
    EXPECT_NE(found.summary.message.find(c.reason), std::string::npos) << found.summary.message;
    EXPECT_EQ(found.storage().numbers, 2 * c.A.rows() * 10 + 100);
    EXPECT_REFUSED(NumericalError, nystrom(A, {.rank = 10, .form = NystromForm::kPsd}), c.reason);
  }
}

TEST(Nystrom, GeneralizedRecoversLowRankAndIsNearTheBest) {
  const Matrix low = test::with_singular_values(70, 70, test::harmonic_spectrum(8));
  const auto exact = nystrom(DenseOperator(low), {.rank = 12, .form = NystromForm::kGeneralized});
  EXPECT_LE(test::frobenius_error(low, exact), 1e-11 * low.norm());

  // Nakatsukasa (2020), in expectation: sqrt(1 + k/(l-k-1)) sqrt(1 + r/(k-r-1)) times the best
  // error of rank r < k; here k = 20, l = 30, r = 12.
  const Vector sigma = test::geometric_spectrum(120, 1.2);
  const Matrix A = test::with_singular_values(120, 120, sigma);
  const double bound =
      std::sqrt(1 + 20.0 / 9) * std::sqrt(1 + 12.0 / 7) * test::tail_norm(sigma, 12);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto found =
        nystrom(DenseOperator(A), {.rank = 20, .form = NystromForm::kGeneralized, .seed = seed});
    EXPECT_LE(test::frobenius_error(A, found), bound) << seed;
    EXPECT_GE(test::frobenius_error(A, found), test::tail_norm(sigma, 20)) << seed;
  }
}

TEST(Nystrom, GeneralizedTakesTwoPassesAndIsStable) {
  const Matrix A = test::with_singular_values(60, 60, test::geometric_spectrum(60));
  const DenseOperator op(A);
  const CountedOperator counted(op);
  const auto found = nystrom(counted, {.rank = 30, .form = NystromForm::kGeneralized});
  EXPECT_EQ(counted.passes(), 2.0);
  EXPECT_LE(test::frobenius_error(A, found), 1e-12 * A.norm());
}

TEST(Nystrom, SmallAndZero) {
  for (const Index n : {1, 2, 3}) {
    const Matrix zero = Matrix::Zero(n, n);
    EXPECT_EQ(test::dense_of(nystrom(DenseOperator(zero), {})).norm(), 0.0);
    const Matrix A = Matrix::Identity(n, n) * 3 + Matrix::Ones(n, n);
    EXPECT_LE(test::frobenius_error(A, nystrom(DenseOperator(A), {.rank = n})), 1e-12);
    const Matrix B = test::random_matrix(n, n) - 5 * Matrix::Identity(n, n);
    EXPECT_LE(test::frobenius_error(B, nystrom(DenseOperator(B), {.rank = n})), 1e-10);
  }
}

TEST(Nystrom, Refusals) {
  const DenseOperator wide(test::random_matrix(4, 6));
  EXPECT_REFUSED(InvalidArgument, nystrom(wide, {.rank = 2}), "4 x 6; it must be square");
  const DenseOperator A(Matrix(Matrix::Identity(6, 6)));
  EXPECT_REFUSED(InvalidArgument, nystrom(A, {.rank = 7}), "rank 7 is outside 1..6");
  EXPECT_REFUSED(
      InvalidArgument, nystrom(A, {.rank = 2, .sampling = LandmarkSampling::kKMeans}), "kmeans");
  EXPECT_REFUSED(InvalidArgument, nystrom(A, {.rank = 2, .oversampling = 0.5}), "oversampling");
  EXPECT_REFUSED(InvalidArgument,
                 nystrom(A, {.rank = 2, .pseudo_inverse_tolerance = 1}),
                 "pseudo_inverse_tolerance");
  EXPECT_REFUSED(BudgetTooSmall, nystrom(A, {.budget = parse_budget("6")}), "7 numbers");
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_REFUSED(Interrupted, nystrom(A, {.rank = 2}, control), "nystrom");
}

}  // namespace
}  // namespace matapprox
