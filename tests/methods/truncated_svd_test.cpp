#include "matapprox/methods/truncated_svd.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr SvdAlgorithm kAlgorithms[] = {
    SvdAlgorithm::kDense, SvdAlgorithm::kKrylov, SvdAlgorithm::kRandomized, SvdAlgorithm::kSpectra};

template <class Value>
const Value& factor_value(const Approximation& found, std::size_t index) {
  return std::get<Value>(*found.factors().at(index).value);
}

class SvdAlgorithms : public ::testing::TestWithParam<SvdAlgorithm> {};
INSTANTIATE_TEST_SUITE_P(All,
                         SvdAlgorithms,
                         ::testing::ValuesIn(kAlgorithms),
                         [](const auto& chosen) { return std::string(enum_name(chosen.param)); });

// Eckart and Young: error^2 is the sum of the squares of the omitted singular values.
TEST_P(SvdAlgorithms, ReachesTheBestErrorOfItsRank) {
  const Vector sigma = test::harmonic_spectrum(150);
  for (const auto& [m, n] : {std::pair<Index, Index>{150, 150}, {150, 210}, {260, 150}}) {
    const Matrix A = test::with_singular_values(m, n, sigma);
    const auto found = truncated_svd(DenseOperator(A), {.rank = 12, .algorithm = GetParam()});
    const double best = test::tail_norm(sigma, 12);
    // The randomized algorithm is not exact; at this seed it is far below this bound.
    const double slack = GetParam() == SvdAlgorithm::kRandomized ? 1e-4 : 1e-10;
    EXPECT_NEAR(test::frobenius_error(A, found), best, slack * best) << m << " x " << n;
    EXPECT_EQ(found.summary.rank, 12);
    EXPECT_EQ(found.storage().numbers, (m + n) * 12 + 12);
  }
}

TEST_P(SvdAlgorithms, FactorsAreOrthonormalAndSorted) {
  const Matrix A = test::with_singular_values(90, 70, test::geometric_spectrum(70, 1.3));
  const auto found = truncated_svd(DenseOperator(A), {.rank = 10, .algorithm = GetParam()});
  const auto& U = factor_value<Matrix>(found, 0);
  const auto& S = factor_value<Vector>(found, 1);
  const auto& V = factor_value<Matrix>(found, 2);
  EXPECT_TRUE(test::within(U.transpose() * U, Matrix::Identity(10, 10), 1e-12));
  EXPECT_TRUE(test::within(V.transpose() * V, Matrix::Identity(10, 10), 1e-12));
  for (Index i = 1; i < 10; ++i) EXPECT_GE(S(i - 1), S(i));
  EXPECT_TRUE(test::within(A * V, U * S.asDiagonal(), 1e-5));
}

TEST_P(SvdAlgorithms, SymmetricMatrixWithNegativeEigenvalues) {
  Vector lambda = test::harmonic_spectrum(120);
  for (Index i = 0; i < lambda.size(); i += 2) lambda(i) = -lambda(i);
  const Matrix A = test::with_eigenvalues(lambda);
  const auto plain = truncated_svd(DenseOperator(A), {.rank = 9, .algorithm = GetParam()});
  const auto half = truncated_svd(DenseOperator(A),
                                  {.rank = 9, .algorithm = GetParam(), .symmetric_storage = true});
  const double best = test::tail_norm(lambda, 9);
  EXPECT_NEAR(test::frobenius_error(A, plain), best, 1e-6 * best);
  EXPECT_CLOSE(test::dense_of(half), test::dense_of(plain), 1e-13);
  EXPECT_EQ(half.storage().numbers, 120 * 9 + 9);
  EXPECT_EQ(plain.storage().numbers, 2 * 120 * 9 + 9);
}

TEST_P(SvdAlgorithms, RecoversAMatrixOfLowRankToRounding) {
  Vector sigma = Vector::Zero(80);
  sigma.head(5) << 4, 3, 3, 3, 1;
  const Matrix A = test::with_singular_values(80, 95, sigma);
  for (const Index rank : {5, 8}) {
    const auto found = truncated_svd(DenseOperator(A), {.rank = rank, .algorithm = GetParam()});
    EXPECT_LE(test::frobenius_error(A, found), 100 * kEpsilon * A.norm()) << rank;
  }
}

// Singular values that A^T A would lose, sigma = 1e-9 sigma_1 and below, have the absolute accuracy
// of rounding.
TEST_P(SvdAlgorithms, KeepsSmallSingularValues) {
  const Vector sigma = test::geometric_spectrum(40);
  const Matrix A = test::with_singular_values(40, 40, sigma);
  const auto found = truncated_svd(DenseOperator(A), {.rank = 12, .algorithm = GetParam()});
  const auto& S = factor_value<Vector>(found, 1);
  for (Index i = 0; i < 12; ++i) EXPECT_NEAR(S(i), sigma(i), 40 * kEpsilon) << i;
}

TEST_P(SvdAlgorithms, EntriesNearTheEndsOfTheRange) {
  const Vector sigma = test::harmonic_spectrum(60);
  const Matrix A = test::with_singular_values(60, 60, sigma);
  for (const double scale : {1e150, 1e-150}) {
    const auto found =
        truncated_svd(DenseOperator(A * scale), {.rank = 6, .algorithm = GetParam()});
    const double error = (A - test::dense_of(found) / scale).norm();
    EXPECT_NEAR(error, test::tail_norm(sigma, 6), 1e-4 * error) << scale;
  }
}

/// Matrices of low rank, with multiple singular values or graded, whose Krylov spaces end early or
/// have dependent columns.
std::vector<std::pair<std::string, Matrix>> hard_for_krylov_spaces() {
  std::vector<std::pair<std::string, Matrix>> list;
  list.emplace_back("ones", Matrix::Ones(120, 120));
  list.emplace_back("ones, rectangular", Matrix::Ones(120, 90));
  list.emplace_back("rank 2, 10 and 1", test::with_singular_values(70, 60, Eigen::Vector2d(10, 1)));
  list.emplace_back("zero", Matrix::Zero(60, 50));
  list.emplace_back("identity", Matrix::Identity(60, 60));
  for (const double step : {0.3, 3.0}) {
    Vector grades(100);
    for (Index i = 0; i < 100; ++i) grades(i) = std::pow(10.0, -step * static_cast<double>(i));
    const Matrix random = test::random_matrix(100, 100);
    list.emplace_back("graded rows", grades.asDiagonal() * random);
    list.emplace_back("graded columns", random * grades.asDiagonal());
    list.emplace_back("graded rows and columns",
                      grades.asDiagonal() * random * grades.asDiagonal());
  }
  return list;
}

TEST_P(SvdAlgorithms, OrthonormalAndCompleteForLowRankCopiesAndGrades) {
  for (const auto& [name, A] : hard_for_krylov_spaces()) {
    const Vector sigma = kernels::singular_values(A);
    for (const double scale : {1.0, 1e300, 1e-300}) {
      const Matrix scaled = scale * (A / std::max(A.cwiseAbs().maxCoeff(), 1.0));
      const double unit = scale / std::max(A.cwiseAbs().maxCoeff(), 1.0);
      for (const Index rank : {5, 20}) {
        const auto found =
            truncated_svd(DenseOperator(scaled), {.rank = rank, .algorithm = GetParam()});
        const auto& U = factor_value<Matrix>(found, 0);
        const auto& S = factor_value<Vector>(found, 1);
        const auto& V = factor_value<Matrix>(found, 2);
        ASSERT_EQ(S.size(), rank) << name << " " << scale;
        const Matrix unity = Matrix::Identity(rank, rank);
        EXPECT_LE((U.transpose() * U - unity).norm(), 400 * kEpsilon) << name << " " << scale;
        EXPECT_LE((V.transpose() * V - unity).norm(), 400 * kEpsilon) << name << " " << scale;
        EXPECT_LE((S / unit - sigma.head(rank)).norm(), 1e-5 * sigma(0)) << name << " " << scale;
        const Matrix rest = scaled / unit - U * (S / unit).asDiagonal() * V.transpose();
        EXPECT_LE(rest.norm(), 1.02 * sigma.tail(sigma.size() - rank).norm() + 1e-12 * sigma(0))
            << name << " " << scale << " " << rank;
      }
    }
  }
}

TEST_P(SvdAlgorithms, SmallAndDegenerateMatrices) {
  for (const Index n : {1, 2, 3}) {
    const Matrix A = test::random_matrix(n, n);
    for (Index rank = 1; rank <= n; ++rank) {
      const auto found = truncated_svd(DenseOperator(A), {.rank = rank, .algorithm = GetParam()});
      const Vector sigma = Eigen::JacobiSVD<Matrix>(A).singularValues();
      EXPECT_NEAR(test::frobenius_error(A, found), test::tail_norm(sigma, rank), 1e-14)
          << n << ' ' << rank;
    }
  }
  const auto zero =
      truncated_svd(DenseOperator(Matrix::Zero(20, 30)), {.rank = 4, .algorithm = GetParam()});
  EXPECT_EQ(test::dense_of(zero).norm(), 0.0);
  const auto identity =
      truncated_svd(DenseOperator(Matrix::Identity(50, 50)), {.rank = 20, .algorithm = GetParam()});
  EXPECT_NEAR(test::frobenius_error(Matrix::Identity(50, 50), identity), std::sqrt(30.0), 1e-12);
  const auto row =
      truncated_svd(DenseOperator(Matrix::Ones(1, 9)), {.rank = 1, .algorithm = GetParam()});
  EXPECT_TRUE(test::within(test::dense_of(row), Matrix::Ones(1, 9), 1e-14));
}

// Orders, ranks and values for which a Lanczos space ends early.
TEST_P(SvdAlgorithms, SmallMatricesAndFewDifferentValues) {
  std::vector<Matrix> matrices;
  for (Index i = 0; i < 40; ++i) {
    const Matrix A = test::random_matrix(2 + i % 4, 2 + i % 4);
    matrices.push_back(A + A.transpose());
  }
  Vector two = Vector::Constant(60, 2.0);
  two.head(3) << 5, 4, 4;
  matrices.push_back(test::with_eigenvalues(two));
  matrices.push_back(test::with_singular_values(60, 50, two.head(50)));
  matrices.push_back(Vector::LinSpaced(30, 1, 30) * Vector::LinSpaced(40, 1, 2).transpose());
  for (const Matrix& A : matrices) {
    const Vector sigma = Eigen::JacobiSVD<Matrix>(A).singularValues();
    for (const Index rank : {Index{1}, Index{2}, sigma.size() - 1}) {
      for (const std::uint64_t seed : {1, 2, 3}) {
        const auto found =
            truncated_svd(DenseOperator(A), {.rank = rank, .algorithm = GetParam(), .seed = seed});
        const double slack = GetParam() == SvdAlgorithm::kRandomized ? 1e-2 : 1e-9;
        const double best = test::tail_norm(sigma, rank);
        EXPECT_NEAR(test::frobenius_error(A, found), best, slack * best + 1e-12 * sigma(0))
            << A.rows() << ' ' << rank << ' ' << seed;
      }
    }
  }
}

TEST_P(SvdAlgorithms, SameSeedSameBitsForEveryThreadCount) {
  const Matrix A = test::with_singular_values(300, 280, test::harmonic_spectrum(280));
  const TruncatedSvdOptions options{.rank = 15, .algorithm = GetParam(), .seed = 7};
  Matrix first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    const auto found = truncated_svd(DenseOperator(A), options);
    if (count == 1) first = factor_value<Matrix>(found, 0);
    EXPECT_SAME_BITS(factor_value<Matrix>(found, 0), first);
  }
}

TEST_P(SvdAlgorithms, StopsWhenTold) {
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  const DenseOperator A(test::random_matrix(40, 40));
  EXPECT_REFUSED(Interrupted,
                 truncated_svd(A, {.rank = 3, .algorithm = GetParam()}, control),
                 "truncated_svd");
}

// The stop is requested just after a restart, before another product gives the residuals.
TEST(TruncatedSvd, KrylovThatIsStoppedAtARestartHasNotConverged) {
  const Matrix B = test::random_matrix(300, 300);
  for (const Matrix& values : {B, Matrix(B + B.transpose())}) {
    std::atomic<bool> stop{false};
    RunControl control;
    control.stop = &stop;
    control.progress = [&](const Progress&) { stop = true; };
    const auto found = truncated_svd(
        DenseOperator(values), {.rank = 10, .algorithm = SvdAlgorithm::kKrylov}, control);
    EXPECT_TRUE(stop);
    EXPECT_EQ(found.summary.termination, Termination::kInterrupted) << found.summary.message;
  }
}

TEST_P(SvdAlgorithms, ToleranceGivesTheLeastRank) {
  const Vector sigma = test::geometric_spectrum(100, 1.2);
  const DenseOperator A(test::with_singular_values(100, 100, sigma));
  const auto frobenius = truncated_svd(A, {.frobenius_tolerance = 1e-2, .algorithm = GetParam()});
  Index expected = 1;
  while (test::tail_norm(sigma, expected) > 1e-2 * sigma.norm()) ++expected;
  EXPECT_EQ(frobenius.summary.rank, expected);
  const auto spectral = truncated_svd(A, {.spectral_tolerance = 0.03, .algorithm = GetParam()});
  expected = 1;
  while (sigma(expected) > 0.03 * sigma(0)) ++expected;
  EXPECT_EQ(spectral.summary.rank, expected);
}

// The bound of Halko, Martinsson and Tropp (2011) for power iterations, without its factors above 1
// and with k + p the dimension of the last block alone: weaker than the guarantee of block Krylov,
// far above its actual error.
TEST(TruncatedSvd, RandomizedIsWithinItsBoundAtFixedSeeds) {
  const Vector sigma = test::harmonic_spectrum(200);
  const Matrix A = test::with_singular_values(200, 200, sigma);
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    const auto found = truncated_svd(DenseOperator(A),
                                     {.rank = 10,
                                      .algorithm = SvdAlgorithm::kRandomized,
                                      .power_iterations = 1,
                                      .block_size = 10,
                                      .seed = seed});
    const double spectral = Eigen::JacobiSVD<Matrix>(A - test::dense_of(found)).singularValues()(0);
    EXPECT_LE(spectral, 1.5 * sigma(10)) << seed;
    EXPECT_LE(test::frobenius_error(A, found), 1.1 * test::tail_norm(sigma, 10)) << seed;
  }
}

TEST(TruncatedSvd, RandomizedTakesTheStatedNumberOfPasses) {
  const DenseOperator A(test::random_matrix(100, 90));
  const CountedOperator counted(A);
  truncated_svd(counted,
                {.rank = 5, .algorithm = SvdAlgorithm::kRandomized, .power_iterations = 3});
  EXPECT_EQ(counted.passes(), 8.0);
  const DenseOperator S(test::with_eigenvalues(test::harmonic_spectrum(100)));
  const CountedOperator counted_symmetric(S);
  truncated_svd(counted_symmetric,
                {.rank = 5, .algorithm = SvdAlgorithm::kRandomized, .power_iterations = 3});
  EXPECT_EQ(counted_symmetric.passes(), 8.0);
}

// Clusters wider than the block: thick restarts find all copies.
TEST(TruncatedSvd, KrylovFindsRepeatedSingularValues) {
  const Vector sigma = test::step_spectrum(400, 25, 0.9);
  const Matrix A = test::with_singular_values(400, 400, sigma);
  const auto found =
      truncated_svd(DenseOperator(A), {.rank = 25, .algorithm = SvdAlgorithm::kKrylov});
  const auto& S = factor_value<Vector>(found, 1);
  EXPECT_NEAR(S(24), 1.0, 1e-9);
  EXPECT_EQ(found.summary.termination, Termination::kConverged);
}

/// Copies of one block along the diagonal, and its singular values with that multiplicity,
/// descending.
struct Copies {
  SparseMatrix A;
  Vector sigma;
};

Copies copies_of(const Matrix& B, Index count) {
  std::vector<Eigen::Triplet<double, Index>> entries;
  const Vector once = Eigen::JacobiSVD<Matrix>(B).singularValues();
  Copies result{SparseMatrix(count * B.rows(), count * B.cols()), Vector(count * once.size())};
  for (Index c = 0; c < count; ++c) {
    for (Index i = 0; i < B.rows(); ++i) {
      for (Index j = 0; j < B.cols(); ++j) {
        if (B(i, j) != 0) entries.emplace_back(c * B.rows() + i, c * B.cols() + j, B(i, j));
      }
    }
    for (Index i = 0; i < once.size(); ++i) result.sigma(i * count + c) = once(i);
  }
  result.A.setFromTriplets(entries.begin(), entries.end());
  return result;
}

Matrix halving_bidiagonal(Index n) {
  Matrix B = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) B(i, i) = std::pow(0.5, i);
  for (Index i = 0; i + 1 < n; ++i) B(i, i + 1) = std::pow(0.5, i);
  return B;
}

Matrix path_adjacency(Index n) {
  Matrix B = Matrix::Zero(n, n);
  for (Index i = 0; i + 1 < n; ++i) B(i, i + 1) = B(i + 1, i) = 1;
  return B;
}

/// In a disconnected graph or a block-diagonal matrix every value has a multiplicity of at least
/// the number of equal parts; a Krylov space finds no more copies than it has starting columns.
void expect_all_copies(const Matrix& B, Index count, Index rank) {
  const Copies known = copies_of(B, count);
  const double least = known.sigma.tail(known.sigma.size() - rank).norm();
  const SparseOperator A(known.A);
  for (const Index block : {0, 1, 8}) {
    const auto found =
        truncated_svd(A, {.rank = rank, .algorithm = SvdAlgorithm::kKrylov, .block_size = block});
    EXPECT_EQ(found.summary.termination, Termination::kConverged);
    EXPECT_LE((Matrix(known.A) - test::dense_of(found)).norm(), least * (1 + 1e-8))
        << "block " << block;
  }
  const auto quick = truncated_svd(A, {.rank = rank, .algorithm = SvdAlgorithm::kRandomized});
  EXPECT_TRUE((Matrix(known.A) - test::dense_of(quick)).norm() <= least * 1.01 ||
              quick.summary.message.find("1 %") != std::string::npos);
}

TEST(TruncatedSvd, FindsAllCopiesOfABlock) {
  expect_all_copies(halving_bidiagonal(30), 20, 20);
  expect_all_copies(halving_bidiagonal(40), 12, 30);
  expect_all_copies(path_adjacency(20), 15, 35);
  expect_all_copies(test::random_matrix(20, 20), 25, 25);
  expect_all_copies(test::random_matrix(12, 18), 30, 47);
}

TEST(TruncatedSvd, RandomizedWidensItsBlockForCopies) {
  // A block of (2 * 25 + 44) / 12 columns finds that many copies of each value, but there are 25.
  const Matrix B =
      test::random_matrix(40, 40) * Vector::LinSpaced(40, 0, 39)
                                        .unaryExpr([](double i) { return std::pow(0.6, i); })
                                        .asDiagonal();
  const Copies known = copies_of(B, 25);
  const auto found =
      truncated_svd(SparseOperator(known.A), {.rank = 25, .algorithm = SvdAlgorithm::kRandomized});
  EXPECT_LE((Matrix(known.A) - test::dense_of(found)).norm(),
            known.sigma.tail(39 * 25).norm() * 1.01);
  EXPECT_EQ(found.summary.message, "");
}

TEST(TruncatedSvd, SpectralToleranceCountsCopies) {
  const Copies known = copies_of(halving_bidiagonal(40), 104);
  const auto found = truncated_svd(SparseOperator(known.A), {.spectral_tolerance = 0.8});
  EXPECT_EQ(found.summary.form, "krylov");
  EXPECT_EQ(found.summary.rank, 104);
}

// The certificate is reliable: without a message no copy is missing.
TEST(TruncatedSvd, RandomizedSaysWhenAFewPassesAreTooFew) {
  const DenseOperator A(test::random_matrix(400, 400));
  const auto hasty =
      truncated_svd(A, {.rank = 60, .algorithm = SvdAlgorithm::kRandomized, .power_iterations = 0});
  EXPECT_NE(hasty.summary.message.find("1 %"), std::string::npos);
  const auto thorough = truncated_svd(
      A, {.rank = 60, .algorithm = SvdAlgorithm::kRandomized, .power_iterations = 40});
  EXPECT_EQ(thorough.summary.message, "");
}

TEST(TruncatedSvd, AutoTakesKrylovForALargeSparseMatrix) {
  const SparseOperator A(test::grid_laplacian(40));
  const auto found = truncated_svd(A, {.rank = 8});
  EXPECT_EQ(found.summary.form, "krylov");
  const auto& S = factor_value<Vector>(found, 1);
  // Eigenvalues of the grid: 4 sin^2(i pi / 82) + 4 sin^2(j pi / 82).
  const auto part = [](int i) { return 4 * std::pow(std::sin(i * M_PI / 82), 2); };
  EXPECT_NEAR(S(0), 2 * part(40), 1e-12);
  EXPECT_NEAR(S(1), part(40) + part(39), 1e-12);
  EXPECT_NEAR(S(2), part(40) + part(39), 1e-12);  // a double eigenvalue
  EXPECT_NEAR(S(3), 2 * part(39), 1e-12);
}

// LAPACK cannot be interrupted: 22 n^3 operations at 10^10 per second exceed the time limit.
TEST(TruncatedSvd, BeginsNoDecompositionThatTakesLongerThanThereIsTimeFor) {
  const DenseOperator A(test::random_matrix(1020, 1000));
  RunControl control;
  control.max_seconds = 2;
  EXPECT_REFUSED(Interrupted,
                 truncated_svd(A, {.rank = 600}, control),
                 "too few for a decomposition of order 1000");
  control.restart_clock();
  EXPECT_EQ(truncated_svd(A, {.rank = 4}, control).summary.form, "randomized");
  EXPECT_EQ(truncated_svd(DenseOperator(test::random_matrix(60, 50)), {.rank = 4}).summary.form,
            "dense");
}

TEST(TruncatedSvd, BudgetGivesTheLargestRankThatFits) {
  const DenseOperator A(test::random_matrix(40, 40));
  const auto found = truncated_svd(A, {.budget = parse_budget("500")});
  EXPECT_EQ(found.summary.rank, 6);  // 81 numbers each
  const auto symmetric = truncated_svd(DenseOperator(test::with_eigenvalues(Vector::Ones(40))),
                                       {.budget = parse_budget("500"), .symmetric_storage = true});
  EXPECT_EQ(symmetric.summary.rank, 12);  // 41 each
}

TEST(TruncatedSvd, Refusals) {
  const DenseOperator A(test::random_matrix(6, 4));
  EXPECT_REFUSED(InvalidArgument, truncated_svd(A, {.rank = 5}), "rank 5 is outside 1..4");
  EXPECT_REFUSED(InvalidArgument, truncated_svd(A, {.rank = -1}), "rank -1 is outside 1..4");
  EXPECT_REFUSED(
      InvalidArgument, truncated_svd(A, {.rank = 2, .symmetric_storage = true}), "symmetric");
  EXPECT_REFUSED(InvalidArgument,
                 truncated_svd(A, {.rank = 2, .frobenius_tolerance = 0.1}),
                 "a rank or a tolerance");
  EXPECT_REFUSED(InvalidArgument, truncated_svd(A, {.spectral_tolerance = 1.5}), "outside 0..1");
  EXPECT_REFUSED(InvalidArgument, truncated_svd(A, {.rank = 2, .block_size = 9}), "block_size 9");
  EXPECT_REFUSED(BudgetTooSmall, truncated_svd(A, {.budget = parse_budget("10")}), "11 numbers");
}

// A product may have nothing but rounding errors outside the space; if rows are graded, most of
// these errors are in the space after all.
TEST(TruncatedSvd, VectorsOfGradedMatricesAreOrthonormal) {
  const Index n = 59;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Matrix A = test::random_matrix(n, n, seed);
    for (Index i = 0; i < n; ++i) A.row(i) *= std::pow(10.0, -7.0 * static_cast<double>(i));
    TruncatedSvdOptions options;
    options.algorithm = SvdAlgorithm::kKrylov;
    options.rank = 33;
    const Approximation B = truncated_svd(DenseOperator(A), options);
    for (const std::size_t side : {0, 2}) {
      const auto& U = std::get<Matrix>(*B.factors()[side].value);
      EXPECT_LE((U.transpose() * U - Matrix::Identity(33, 33)).norm(), 1e-13) << seed << side;
    }
  }
}

}  // namespace
}  // namespace matapprox
