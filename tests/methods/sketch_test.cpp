#include "matapprox/methods/sketch.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/sketch/sizes.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using test::kEps;

/// The random matrices of a sketch, entry by entry as docs/file-format.md defines them.
struct TestMatrices {
  Matrix upsilon;
  Matrix theta;
  Matrix phi;
  Matrix omega;
  Matrix psi;
};

TestMatrices test_matrices(Index m, Index n, const SketchOptions& o) {
  const auto made = [&](RandomStream stream, Index size, Index first, Index count) {
    Matrix T(count, size);
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < size; ++j) T(i, j) = random_normal(o.seed, stream, j, first + i);
    }
    return T;
  };
  const Index k = o.range_size;
  const Index q = o.error_samples;
  return {made(RandomStream::kStreamRows, m, 0, k),
          made(RandomStream::kStreamRows, m, k + o.core_size, q),
          made(RandomStream::kStreamRows, m, k, o.core_size),
          made(RandomStream::kStreamColumns, n, 0, k),
          made(RandomStream::kStreamColumns, n, k, o.core_size)};
}

/// Sketches A in blocks of the given number of rows, from the top.
StreamingSketch sketch_of(const Matrix& A, const SketchOptions& options, Index block = 1000) {
  StreamingSketch sketch(A.rows(), A.cols(), options);
  for (Index first = 0; first < A.rows(); first += block)
    sketch.update(first, A.middleRows(first, std::min(block, A.rows() - first)));
  return sketch;
}

Matrix dense_sketched(const Matrix& A, const SketchOptions& options) {
  return test::dense_of(sketch_of(A, options).finish().approximation);
}

Vector polynomial_spectrum(Index n, double power) {
  Vector sigma(n);
  for (Index i = 0; i < n; ++i) sigma(i) = std::pow(static_cast<double>(i + 1), -power);
  return sigma;
}

void expect_same_state(const SketchState& a, const SketchState& b) {
  EXPECT_SAME_BITS(a.row_sums, b.row_sums);
  EXPECT_SAME_BITS(a.range_transposed, b.range_transposed);
  EXPECT_SAME_BITS(a.core, b.core);
  EXPECT_EQ(a.frobenius_norm, b.frobenius_norm);
}

TEST(StreamingSketch, KeepsWhatTheFormulasSay) {
  const Matrix A = test::random_matrix(37, 23);
  const StreamingSketch sketch =
      sketch_of(A, {.rank = 2, .range_size = 5, .core_size = 11, .error_samples = 3, .seed = 9}, 8);
  const SketchState& state = sketch.state();
  const TestMatrices T = test_matrices(37, 23, state.options);
  EXPECT_CLOSE(state.row_sums.topRows(5), T.upsilon * A, 50 * kEps);
  EXPECT_CLOSE(state.row_sums.bottomRows(3), T.theta * A, 50 * kEps);
  EXPECT_CLOSE(state.range_transposed.transpose(), A * T.omega.transpose(), 50 * kEps);
  EXPECT_CLOSE(state.core, T.phi * A * T.psi.transpose(), 50 * kEps);
  EXPECT_NEAR(state.frobenius_norm, A.norm(), test::rounding(37 * 23) * A.norm());
  EXPECT_EQ(sketch.stored_numbers(), 5 * (37 + 23) + 11 * 11 + 3 * 23);
}

// The reconstruction, written with pseudo-inverses and a full SVD.
TEST(StreamingSketch, FinishesAsTheFormulasSay) {
  const Matrix A = test::with_singular_values(40, 25, polynomial_spectrum(25, 1));
  const SketchOptions options{.rank = 3, .range_size = 7, .core_size = 15, .seed = 4};
  const StreamingSketch sketch = sketch_of(A, options);
  const TestMatrices T = test_matrices(40, 25, sketch.state().options);
  const Matrix X = T.upsilon * A;
  const Matrix Y = A * T.omega.transpose();
  const Matrix Z = T.phi * A * T.psi.transpose();
  const Matrix P =
      Eigen::HouseholderQR<Matrix>(X.transpose()).householderQ() * Matrix::Identity(25, 7);
  const Matrix Q = Eigen::HouseholderQR<Matrix>(Y).householderQ() * Matrix::Identity(40, 7);
  const auto inverse = [](const Matrix& M) {
    return Eigen::CompleteOrthogonalDecomposition<Matrix>(M).pseudoInverse();
  };
  const Matrix C = inverse(T.phi * Q) * Z * inverse(T.psi * P).transpose();
  const Eigen::JacobiSVD<Matrix> svd(Q * C * P.transpose(),
                                     Eigen::ComputeThinU | Eigen::ComputeThinV);
  const Matrix expected = svd.matrixU().leftCols(3) * svd.singularValues().head(3).asDiagonal() *
                          svd.matrixV().leftCols(3).transpose();
  const SketchedApproximation found = sketch.finish();
  EXPECT_CLOSE(test::dense_of(found.approximation), expected, 1e-12);
  ASSERT_TRUE(found.error.has_value());
  const double estimate = (T.theta * (A - expected)).norm() / std::sqrt(10.0);
  EXPECT_NEAR(found.error->error, estimate, 1e-11 * estimate);
  EXPECT_EQ(found.approximation.summary.rank, 3);
  EXPECT_EQ(found.approximation.storage().numbers, (40 + 25 + 1) * 3);
}

TEST(StreamingSketch, RecoversExactLowRankToRounding) {
  for (const auto& [m, n] :
       {std::pair<Index, Index>{60, 40}, {40, 60}, {300, 9}, {9, 300}, {4, 4}}) {
    const Matrix A = test::with_singular_values(m, n, test::geometric_spectrum(4, 3));
    EXPECT_CLOSE(dense_sketched(A, {.rank = 4}), A, 1e-12) << m << " x " << n;
  }
  EXPECT_EQ(dense_sketched(Matrix::Zero(7, 5), {.rank = 2}).norm(), 0.0);
  EXPECT_CLOSE(
      dense_sketched(Matrix::Constant(1, 1, 3), {.rank = 1}), Matrix::Constant(1, 1, 3), 1e-14);
}

TEST(StreamingSketch, IsWithinTheBoundsOfThePaper) {
  const Index m = 90;
  const Index n = 70;
  for (const Vector& sigma : {polynomial_spectrum(n, 1),
                              polynomial_spectrum(n, 2),
                              test::geometric_spectrum(n, 1.5),
                              test::step_spectrum(n, 5, 0.01)}) {
    const Matrix A = test::with_singular_values(m, n, sigma);
    const Index r = 5;
    const Index k = 4 * r + 1;
    const Index s = 2 * k + 1;
    double bound = std::numeric_limits<double>::infinity();
    for (Index rho = 0; rho < k - 1; ++rho) {
      const double range = static_cast<double>(k + rho - 1) / static_cast<double>(k - rho - 1);
      bound = std::min(bound, range * std::pow(test::tail_norm(sigma, rho), 2));
    }
    bound *= static_cast<double>(s - 1) / static_cast<double>(s - k - 1);
    double whole = 0;
    double truncated = 0;
    constexpr int kSeeds = 20;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      whole += (dense_sketched(A, {.rank = k, .range_size = k, .core_size = s, .seed = seed}) - A)
                   .squaredNorm();
      const double error = (dense_sketched(A, {.rank = r, .seed = seed}) - A).norm();
      EXPECT_GE(error, (1 - 1e-12) * test::tail_norm(sigma, r));
      truncated += error;
    }
    EXPECT_LE(whole / kSeeds, bound);
    EXPECT_GE(whole / kSeeds, std::pow(test::tail_norm(sigma, k), 2));
    EXPECT_LE(truncated / kSeeds, test::tail_norm(sigma, r) + 2 * std::sqrt(bound));
  }
}

// Over draws of the seed, error^2 is unbiased and the interval has its stated coverage.
TEST(StreamingSketch, ErrorEstimateIsUnbiasedAndItsIntervalHolds) {
  const Matrix A = test::with_singular_values(30, 20, polynomial_spectrum(20, 0.5));
  double ratios = 0;
  double squares = 0;
  int inside = 0;
  constexpr int kDraws = 300;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const auto found = sketch_of(A, {.rank = 2, .seed = seed}).finish();
    const double error = (test::dense_of(found.approximation) - A).norm();
    ASSERT_TRUE(found.error.has_value());
    const double ratio = std::pow(found.error->error / error, 2);
    ratios += ratio;
    squares += ratio * ratio;
    inside += found.error->low <= error && error <= found.error->high ? 1 : 0;
    EXPECT_TRUE(found.error->norm_is_exact);
    EXPECT_NEAR(found.error->frobenius_norm, A.norm(), 1e-13 * A.norm());
  }
  const double mean = ratios / kDraws;
  const double spread = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_NEAR(mean, 1, 4 * spread);
  EXPECT_LT(spread, 0.03);
  EXPECT_GE(inside, 0.95 * kDraws);
}

// The case for which the interval is just wide enough: the error has a single singular value.
TEST(StreamingSketch, IntervalHoldsForErrorsOfRankOne) {
  Vector sigma(2);
  sigma << 1, 0.5;
  const Matrix A = test::with_singular_values(12, 10, sigma);
  int inside = 0;
  constexpr int kDraws = 400;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const auto found = sketch_of(A, {.rank = 1, .error_samples = 4, .seed = seed}).finish();
    const double error = (test::dense_of(found.approximation) - A).norm();
    inside += found.error->low <= error && error <= found.error->high ? 1 : 0;
  }
  EXPECT_GE(inside, 0.95 * kDraws);
  const SketchInterval ten = sketch_interval(10);
  for (const double end : {ten.low, ten.high}) {
    const double x = 1 / (end * end);
    EXPECT_NEAR(std::pow(x * std::exp(1 - x), 5), 0.025, 1e-12);
  }
  EXPECT_NEAR(ten.low, 1 / 1.66, 0.005);
  EXPECT_NEAR(ten.high, 2.14, 0.005);
}

TEST(StreamingSketch, SameBitsForEveryThreadCount) {
  const Matrix A = test::random_matrix(700, 130);
  Matrix first;
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    const StreamingSketch sketch = sketch_of(A, {.rank = 6, .seed = 3}, 257);
    const Matrix found = test::dense_of(sketch.finish().approximation);
    if (count == 1) first = found;
    EXPECT_SAME_BITS(found, first);
  }
}

TEST(StreamingSketch, BlocksMayComeInAnyOrderAndSize) {
  const Matrix A = test::random_matrix(500, 60);
  const SketchOptions options{.rank = 5};
  const StreamingSketch whole = sketch_of(A, options);
  StreamingSketch other(0, 60, options);  // the number of rows need not be known in advance
  for (const auto& [first, count] : {std::pair<Index, Index>{300, 200}, {0, 1}, {2, 298}, {1, 1}}) {
    other.update(first, A.middleRows(first, count));
  }
  EXPECT_SAME_BITS(other.state().range_transposed.leftCols(500), whole.state().range_transposed);
  EXPECT_CLOSE(other.state().row_sums, whole.state().row_sums, 100 * kEps);
  EXPECT_CLOSE(other.state().core, whole.state().core, 100 * kEps);
  EXPECT_CLOSE(test::dense_of(other.finish().approximation),
               test::dense_of(whole.finish().approximation),
               1e-11);
  EXPECT_EQ(other.state().seen.size(), 1U);
  EXPECT_EQ(other.rows_seen(), 500);
  EXPECT_EQ(other.stored_numbers(), whole.stored_numbers());
}

TEST(StreamingSketch, ResultDoesNotDependOnTheErrorSamples) {
  const Matrix A = test::random_matrix(50, 30);
  const auto without = sketch_of(A, {.rank = 3, .error_samples = 0}).finish();
  EXPECT_FALSE(without.error.has_value());
  EXPECT_CLOSE(test::dense_of(without.approximation), dense_sketched(A, {.rank = 3}), 1e-11);
}

TEST(StreamingSketch, MergesWhatSeveralStreamsSaw) {
  const Matrix A = test::random_matrix(90, 40);
  const SketchOptions options{.rank = 4};
  const StreamingSketch whole = sketch_of(A, options);
  for (const Index rows : {Index{90}, Index{0}}) {
    StreamingSketch top(rows, 40, options);
    StreamingSketch bottom(rows, 40, options);
    top.update(0, A.topRows(30));
    bottom.update(30, A.bottomRows(60));
    top.merge(bottom);
    EXPECT_CLOSE(top.state().row_sums, whole.state().row_sums, 100 * kEps);
    EXPECT_CLOSE(top.state().core, whole.state().core, 100 * kEps);
    EXPECT_SAME_BITS(top.state().range_transposed.leftCols(90), whole.state().range_transposed);
    EXPECT_NEAR(top.state().frobenius_norm, A.norm(), 1e-13 * A.norm());
    EXPECT_EQ(top.rows_seen(), 90);
    EXPECT_REFUSED(InvalidArgument,
                   top.merge(bottom),
                   "rows 31..90, counted from 1, present in both sketches");
  }
  StreamingSketch one(90, 40, options);
  EXPECT_REFUSED(InvalidArgument, one.merge(StreamingSketch(90, 41, options)), "90 x 41");
  EXPECT_REFUSED(InvalidArgument,
                 one.merge(StreamingSketch(90, 40, {.rank = 4, .seed = 2})),
                 "seed is 1 in one sketch and 2 in the other");
  EXPECT_REFUSED(InvalidArgument, one.merge(StreamingSketch(90, 40, {.rank = 3})), "range_size");
}

TEST(StreamingSketch, TakesLinearUpdates) {
  const Matrix A = test::random_matrix(20, 12, 1);
  const Matrix H = test::random_matrix(7, 12, 2);
  StreamingSketch sketch(20, 12, {.rank = 2});
  sketch.linear_update(1, 1, 0, A);
  sketch.linear_update(0.5, -2, 9, H);
  Matrix expected = 0.5 * A;
  expected.middleRows(9, 7) -= 2 * H;
  const StreamingSketch direct = sketch_of(expected, {.rank = 2});
  EXPECT_CLOSE(sketch.state().row_sums, direct.state().row_sums, 100 * kEps);
  EXPECT_CLOSE(sketch.state().range_transposed, direct.state().range_transposed, 100 * kEps);
  EXPECT_CLOSE(sketch.state().core, direct.state().core, 100 * kEps);
  const auto found = sketch.finish();
  EXPECT_FALSE(found.error->norm_is_exact);
  EXPECT_LT(std::abs(std::log(found.error->frobenius_norm / expected.norm())), std::log(2.2));
  EXPECT_REFUSED(InvalidArgument, sketch.update(0, A), "update after linear_update");
  StreamingSketch rows = direct;
  EXPECT_REFUSED(InvalidArgument, rows.linear_update(1, 1, 0, A), "linear_update after update");
  EXPECT_REFUSED(InvalidArgument, sketch.linear_update(NAN, 1, 0, A), "finite");
  // Rows that were never given are zero.
  StreamingSketch part(20, 12, {.rank = 2});
  part.linear_update(1, 1, 18, A.bottomRows(2));
  EXPECT_CLOSE(test::dense_of(part.finish().approximation).bottomRows(2), A.bottomRows(2), 1e-12);
}

TEST(StreamingSketch, RefusesWrongRowsAndStaysAsItWas) {
  const Matrix A = test::random_matrix(30, 8);
  StreamingSketch sketch(30, 8, {.rank = 2});
  sketch.update(10, A.middleRows(10, 5));
  const SketchState before = sketch.state();
  Matrix bad = A.topRows(4);
  bad(2, 6) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_REFUSED(NumericalError, sketch.update(20, bad), "row 23, column 7, counted from 1: nan");
  bad(2, 6) = -std::numeric_limits<double>::infinity();
  EXPECT_REFUSED(NumericalError, sketch.update(0, bad), "row 3, column 7, counted from 1: -inf");
  EXPECT_REFUSED(InvalidArgument,
                 sketch.update(8, A.topRows(4)),
                 "rows 11..12, counted from 1, already added");
  EXPECT_REFUSED(
      InvalidArgument, sketch.update(0, A.leftCols(7)), "7 columns, but the matrix has 8");
  EXPECT_REFUSED(InvalidArgument, sketch.update(28, A.topRows(3)), "rows 29..31");
  EXPECT_REFUSED(InvalidArgument, sketch.update(-1, A.topRows(3)), "outside a matrix with 30 rows");
  EXPECT_REFUSED(InvalidArgument, sketch.finish(), "rows 1..10, 16..30, counted from 1, missing");
  expect_same_state(before, sketch.state());
  EXPECT_EQ(sketch.rows_seen(), 5);
  EXPECT_EQ(sketch.missing().size(), 2U);
  StreamingSketch open(0, 8, {.rank = 4});
  open.update(0, A.topRows(3));
  EXPECT_REFUSED(InvalidArgument, open.finish(), "rank 4 is outside 1..3");
  open.update(4, A.topRows(1));
  EXPECT_REFUSED(InvalidArgument, open.finish(), "row 4, counted from 1, missing");
}

TEST(StreamingSketch, SizesFollowTheRankAndTheBudgets) {
  const auto sizes = [](Index m, Index n, const SketchOptions& options) {
    const SketchOptions o = resolved_sketch_options(m, n, options);
    return std::vector<Index>{o.rank, o.range_size, o.core_size};
  };
  EXPECT_EQ(sizes(1000, 500, {.rank = 10}), (std::vector<Index>{10, 41, 83}));
  EXPECT_EQ(sizes(0, 500, {.rank = 10}), (std::vector<Index>{10, 41, 83}));
  EXPECT_EQ(sizes(30, 500, {.rank = 10}), (std::vector<Index>{10, 30, 61}));
  EXPECT_EQ(sizes(1000, 500, {.rank = 10, .range_size = 20}), (std::vector<Index>{10, 20, 41}));
  EXPECT_EQ(sizes(1000, 500, {.budget = parse_budget("15010")}), (std::vector<Index>{10, 41, 83}));
  // 41 (1500) + 83^2 + 10 500 = 73389
  EXPECT_EQ(sizes(1000, 500, {.sketch_budget = parse_budget("73389")})[0], 10);
  EXPECT_EQ(sizes(1000, 500, {.sketch_budget = parse_budget("73388")})[0], 9);
  EXPECT_REFUSED(InvalidArgument, sizes(0, 5, {}), "the rank must be given");
  EXPECT_REFUSED(InvalidArgument, sizes(9, 5, {.rank = 6}), "rank 6 is outside 1..5");
  EXPECT_REFUSED(InvalidArgument, sizes(9, 5, {.rank = 3, .range_size = 2}), "outside 3..5");
  EXPECT_REFUSED(InvalidArgument, sizes(9, 5, {.rank = 3, .core_size = 4}), "core_size 4");
  EXPECT_REFUSED(InvalidArgument, sizes(9, 5, {.rank = 3, .error_samples = -1}), "error samples");
  EXPECT_REFUSED(InvalidArgument, sizes(9, 0, {.rank = 3}), "sizes start at 1");
  EXPECT_REFUSED(BudgetTooSmall,
                 sizes(90, 50, {.sketch_budget = parse_budget("100")}),
                 "rank 1 stores 1321 numbers");
  EXPECT_REFUSED(BudgetTooSmall,
                 sizes(90, 50, {.rank = 3, .sketch_budget = parse_budget("1000")}),
                 "rank 3 needs a sketch of at least 1321 numbers");  // 5 140 + 11^2 + 500
}

// For a given rank and sketch budget no other pair that fits has a smaller bound.
TEST(StreamingSketch, SketchBudgetMakesTheBoundSmallest) {
  const Index r = 7;
  const auto numbers = [](Index k, Index s) { return k * 350 + s * s + 10 * 150; };
  const auto bound = [](Index k, Index s) {
    return static_cast<double>((s - 1) * (k + r - 1)) /
           static_cast<double>((s - k - 1) * (k - r - 1));
  };
  const SketchOptions found =
      resolved_sketch_options(200, 150, {.rank = r, .sketch_budget = parse_budget("12000")});
  EXPECT_LE(numbers(found.range_size, found.core_size), 12000);
  for (Index k = r + 2; k <= 150; ++k) {
    for (Index s = 2 * k + 1; numbers(k, s) <= 12000; ++s)
      EXPECT_GE(bound(k, s), bound(found.range_size, found.core_size)) << k << ' ' << s;
  }
}

TEST(StreamingSketch, EntriesMayBeHugeOrTiny) {
  const Matrix A = test::with_singular_values(30, 20, test::geometric_spectrum(6, 2));
  const auto plain = sketch_of(A, {.rank = 2}).finish();
  for (const double scale : {std::ldexp(1.0, 900), std::ldexp(1.0, -900)}) {
    const auto scaled = sketch_of(scale * A, {.rank = 2}).finish();
    EXPECT_CLOSE(
        test::dense_of(scaled.approximation) / scale, test::dense_of(plain.approximation), 1e-12);
    EXPECT_NEAR(scaled.error->error / scale, plain.error->error, 1e-12 * plain.error->error);
    EXPECT_NEAR(scaled.error->frobenius_norm / scale, A.norm(), 1e-13 * A.norm());
  }
  const Matrix largest = Matrix::Constant(30, 20, 1e308);
  EXPECT_REFUSED(NumericalError, sketch_of(largest, {.rank = 2}).finish(), "overflows");
}

TEST(StreamingSketch, ResumesFromItsState) {
  const Matrix A = test::random_matrix(50, 14);
  const SketchOptions options{.rank = 3, .seed = 8};
  StreamingSketch half(50, 14, options);
  half.update(0, A.topRows(25));
  StreamingSketch resumed{SketchState(half.state())};
  resumed.update(25, A.bottomRows(25));
  expect_same_state(resumed.state(), sketch_of(A, options, 25).state());
  SketchState wrong = half.state();
  wrong.core.resize(3, 3);
  EXPECT_REFUSED(InvalidArgument, StreamingSketch(std::move(wrong)), "do not have its sizes");
  wrong = half.state();
  wrong.seen = {{0, 5}, {4, 3}};
  EXPECT_REFUSED(InvalidArgument, StreamingSketch(std::move(wrong)), "wrong rows");
}

}  // namespace
}  // namespace matapprox
