#include "matapprox/methods/hierarchical.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/SVD>
#include <cmath>
#include <random>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/hierarchical/blocks.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"
#include "methods/hierarchical/rate_distortion.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

StorageBudget bytes(double amount) { return {StorageBudget::Unit::kBytes, amount}; }
StorageBudget share(double percent) { return {StorageBudget::Unit::kShare, percent / 100}; }

/// exp(-|i - j| / 20) plus a smooth part: symmetric, of high rank near the diagonal.
Matrix smooth(Index n) {
  Matrix A(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      A(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 20) +
                std::cos(0.01 * static_cast<double>(i + j));
    }
  }
  return A;
}

struct Example {
  std::string name;
  Matrix A;
};

std::vector<Example> hierarchical_examples() {
  std::vector<Example> examples;
  examples.push_back({"smooth", smooth(200)});
  examples.push_back({"general", test::with_singular_values(150, 90, test::harmonic_spectrum(90))});
  examples.push_back({"noise", test::random_matrix(64, 64)});
  examples.push_back({"mesh", Matrix(test::grid_laplacian(15))});
  examples.push_back({"sparse", Matrix(test::random_sparse(130, 260, 3))});
  Matrix tailed = test::random_matrix(100, 100);
  tailed = tailed.array().pow(9).matrix();
  examples.push_back({"heavy_tails", tailed});
  return examples;
}

double error_of(const Approximation& found, const Matrix& A) {
  return (test::dense_of(found) - A).norm() / A.norm();
}

TEST(Hierarchical, KeepsToItsBudgetInBytesAndGetsBetterWithIt) {
  for (const Example& example : hierarchical_examples()) {
    const DenseOperator A(example.A);
    const double all = 8 * static_cast<double>(example.A.size());
    double previous = 1;
    for (const double percent : {0.3, 1.0, 4.0, 16.0, 64.0}) {
      const Approximation found = hierarchical(A, {.budget = share(percent)});
      EXPECT_LE(static_cast<double>(found.storage().bytes), percent / 100 * all) << example.name;
      const double error = error_of(found, example.A);
      EXPECT_LE(error, previous * 1.001 + 1e-15) << example.name << " " << percent;
      previous = error;
    }
    EXPECT_LT(previous, 1e-3) << example.name;
  }
}

TEST(Hierarchical, ReachesATolerance) {
  for (const Example& example : hierarchical_examples()) {
    const DenseOperator A(example.A);
    Index before = 0;
    for (const double tolerance : {0.3, 1e-2, 1e-5, 1e-10}) {
      const Approximation found = hierarchical(A, {.frobenius_tolerance = tolerance});
      EXPECT_LE(error_of(found, example.A), tolerance) << example.name;
      EXPECT_GE(found.storage().bytes, before) << example.name;
      before = found.storage().bytes;
    }
  }
}

/// The fewest bytes of a bisection over budgets whose fit reaches a tolerance.
Index fewest_bytes_of_budgets(const DenseOperator& A, double tolerance, Index enough) {
  Index most = enough;
  for (Index least = 0; most - least > std::max<Index>(enough / 100, 8);) {
    const Index middle = least + (most - least) / 2;
    bool reaches = false;
    try {
      const Approximation found = hierarchical(A, {.budget = bytes(static_cast<double>(middle))});
      reaches = error_of(found, A.values()) <= tolerance;
    } catch (const BudgetTooSmall&) {
      // No block fits.
    }
    (reaches ? most : least) = middle;
  }
  return most;
}

TEST(Hierarchical, AToleranceTakesAboutTheFewestBytes) {
  std::vector<Example> examples = hierarchical_examples();
  examples.push_back({"kernel_and_noise", smooth(120) + 0.02 * test::random_matrix(120, 120)});
  Matrix image(96, 128);
  for (Index j = 0; j < image.cols(); ++j) {
    for (Index i = 0; i < image.rows(); ++i) {
      const bool inside = (i - 40) * (i - 40) + (j - 60) * (j - 60) < 900;
      image(i, j) = std::round(static_cast<double>(i + j) / 2 + (inside ? 90 : 0));
    }
  }
  examples.push_back({"image", image});
  for (const Example& example : examples) {
    const DenseOperator A(example.A);
    for (const double tolerance : {0.3, 0.1, 1e-2, 1e-4}) {
      const Approximation found = hierarchical(A, {.frobenius_tolerance = tolerance});
      EXPECT_LE(error_of(found, example.A), tolerance) << example.name;
      const Index bytes_found = found.storage().bytes;
      const Index fewest = fewest_bytes_of_budgets(A, tolerance, bytes_found);
      EXPECT_LE(static_cast<double>(bytes_found), 1.15 * static_cast<double>(fewest) + 16)
          << example.name << " " << tolerance << ": " << error_of(found, example.A);
    }
  }
}

/// The search ends early only where the whole search does not come below the useful bytes either.
TEST(Hierarchical, UsefulBytesEndOnlyHopelessSearches) {
  Index ended_early = 0;
  for (const Example& example : hierarchical_examples()) {
    const DenseOperator A(example.A);
    for (const double tolerance : {0.3, 0.1, 1e-2, 1e-4}) {
      const HierarchicalOptions options{.frobenius_tolerance = tolerance};
      const auto fewest = static_cast<double>(hierarchical(A, options).storage().bytes);
      for (const double useful : {2.0, 1.3, 1.01, 0.9, 0.6, 0.3}) {
        RunControl control;
        control.useful_bytes = useful * fewest;
        const Approximation found = hierarchical(A, options, control);
        EXPECT_LE(error_of(found, example.A), tolerance) << example.name;
        const auto bytes = static_cast<double>(found.storage().bytes);
        if (useful > 1) {
          EXPECT_EQ(bytes, fewest) << example.name << " " << tolerance;
        }
        if (bytes > fewest) ++ended_early;
      }
    }
  }
  EXPECT_GT(ended_early, 0);
}

// Compared at equal bytes with the best low-rank approximation in doubles.
TEST(Hierarchical, IsFarBelowTheSvdInDoubles) {
  const Matrix A = smooth(256);
  const DenseOperator op(A);
  for (const double percent : {1.0, 3.0}) {
    const double limit = percent / 100 * 8 * 256 * 256;
    const Approximation svd =
        truncated_svd(op, {.budget = bytes(limit), .symmetric_storage = true});
    const Approximation found = hierarchical(op, {.budget = bytes(limit)});
    EXPECT_LT(error_of(found, A), 0.2 * error_of(svd, A)) << percent;
  }
}

TEST(Hierarchical, ASymmetricMatrixStaysSymmetric) {
  const Approximation found = hierarchical(DenseOperator(smooth(100)), {.budget = share(5)});
  const Matrix back = test::dense_of(found);
  EXPECT_EQ(found.summary.form, "symmetric");
  EXPECT_EQ(back, Matrix(back.transpose()));
}

TEST(Hierarchical, PowersOfTwoChangeNothingButTheUnit) {
  const Matrix A = smooth(80);
  const Matrix back = test::dense_of(hierarchical(DenseOperator(A), {.budget = share(10)}));
  for (const int exponent : {-1000, -300, 40, 900}) {
    const double scale = std::ldexp(1.0, exponent);
    const Approximation found = hierarchical(DenseOperator(A * scale), {.budget = share(10)});
    EXPECT_SAME_BITS(test::dense_of(found) / scale, back);
  }
}

TEST(Hierarchical, SmallAndDegenerateMatrices) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {1, 300}, {300, 1}, {3, 5}}) {
    const Matrix A = test::random_matrix(rows, cols);
    const Approximation found = hierarchical(DenseOperator(A), {.frobenius_tolerance = 1e-12});
    EXPECT_LE(error_of(found, A), 1e-12) << rows << " x " << cols;
    const Approximation zero = hierarchical(DenseOperator(Matrix::Zero(rows, cols)));
    EXPECT_EQ(test::dense_of(zero).norm(), 0);
    EXPECT_EQ(zero.storage().bytes, 0);
  }
  const Matrix one = Vector::LinSpaced(90, 1, 2) * Vector::LinSpaced(70, -1, 3).transpose();
  const Approximation found = hierarchical(DenseOperator(one), {.frobenius_tolerance = 1e-14});
  EXPECT_LE(error_of(found, one), 1e-14);
  EXPECT_LE(found.storage().bytes, 8 * (90 + 70) + 20);
}

TEST(Hierarchical, BitsDoNotDependOnTheThreads) {
  const DenseOperator A(test::with_singular_values(700, 600, test::harmonic_spectrum(600)));
  const test::ThreadCount one(1);
  const Matrix back = test::dense_of(hierarchical(A, {.budget = share(2)}));
  const test::ThreadCount several(3);
  EXPECT_SAME_BITS(test::dense_of(hierarchical(A, {.budget = share(2)})), back);
}

TEST(Hierarchical, PointsOfAKernelAreOrderedByHalving) {
  const Matrix points =
      test::random_matrix(300, 2).unaryExpr([](double x) { return x - std::floor(x); });
  const KernelOperator A(points, {.function = KernelFunction::kMatern32, .bandwidth = 0.1});
  const Matrix dense = test::dense_of(A);
  const Approximation ordered = hierarchical(A, {.budget = share(3)});
  const Approximation natural =
      hierarchical(A, {.budget = share(3), .order = BlockOrder::kNatural});
  ASSERT_EQ(ordered.factors().size(), 3U);
  EXPECT_LT(error_of(ordered, dense), 0.5 * error_of(natural, dense));
  EXPECT_LE(ordered.storage().bytes, 0.03 * 8 * 300 * 300);
}

TEST(Hierarchical, GraphOrdersUndoAShuffle) {
  std::vector<Index> shuffled = index_range(0, 400);
  std::mt19937 generator(1);
  std::shuffle(shuffled.begin(), shuffled.end(), generator);
  const Matrix L = Matrix(test::grid_laplacian(20)) + 0.01 * Matrix::Identity(400, 400);
  const Matrix A = Matrix(L.inverse())(shuffled, shuffled);
  const DenseOperator op(0.5 * (A + A.transpose()));
  const double natural = error_of(hierarchical(op, {.budget = share(3)}), A);
  for (const BlockOrder order : {BlockOrder::kRcm, BlockOrder::kSpectral}) {
    const Approximation found = hierarchical(op, {.budget = share(3), .order = order});
    EXPECT_LT(error_of(found, A), 0.5 * natural) << enum_name(order);
  }
}

TEST(MedianOrder, PutsNearPointsTogether) {
  // A 16 x 16 grid: after four halvings every 16 consecutive points lie in a square of side 4.
  Matrix points(256, 2);
  for (Index i = 0; i < 256; ++i) {
    points(i, 0) = static_cast<double>(i % 16);
    points(i, 1) = static_cast<double>(i / 16);
  }
  const std::vector<Index> order = blocks::median_order(points, 8);
  std::vector<Index> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, index_range(0, 256));
  for (std::size_t first = 0; first < 256; first += 16) {
    Matrix few(16, 2);
    for (Index k = 0; k < 16; ++k) {
      few.row(k) = points.row(order[first + static_cast<std::size_t>(k)]);
    }
    EXPECT_LE((few.colwise().maxCoeff() - few.colwise().minCoeff()).maxCoeff(), 3);
  }
}

/// Squared error and bytes of a random member of the class: each block divided, dropped, of random
/// rank or stored whole, all in doubles.
struct Member {
  double squared_error = 0;
  double bytes = 0;
};

void choose_at_random(const Matrix& B, Index leaf, std::mt19937& generator, Member& member) {
  constexpr double kLeafBytes = 6;  // no index above 255
  const auto pick = [&](int count) {
    return static_cast<int>(generator() % static_cast<unsigned>(count));
  };
  if (B.rows() >= 2 * leaf && pick(3) > 0) {
    const Index half = (B.rows() + 1) / 2;
    for (const Index i : {Index{0}, half}) {
      for (const Index j : {Index{0}, half}) {
        const Index rows = i == 0 ? half : B.rows() - half;
        const Index cols = j == 0 ? half : B.cols() - half;
        choose_at_random(B.block(i, j, rows, cols), leaf, generator, member);
      }
    }
    return;
  }
  const Vector S = Eigen::JacobiSVD<Matrix>(B).singularValues();
  const Index rank = pick(static_cast<int>(S.size()) + 1);
  if (rank == S.size()) {
    member.bytes += kLeafBytes + 1 + 8 * static_cast<double>(B.size());
    return;
  }
  member.squared_error += S.tail(S.size() - rank).squaredNorm();
  if (rank > 0) {
    member.bytes += kLeafBytes + static_cast<double>(rank * (8 * (B.rows() + B.cols()) + 3));
  }
}

/// Minimum cost of a node with its descendants, from all singular values of each.
double least_cost(blocks::BlockTree& tree,
                  blocks::ContentChoices& contents,
                  const Matrix& A,
                  std::size_t level,
                  blocks::Node& node) {
  const Matrix B = A.block(node.row, node.column, node.rows, node.columns);
  node.set_squares(Eigen::BDCSVD<Matrix>(B).singularValues().cwiseAbs2());
  node.complete = true;
  contents.find_shape(node);
  const double price = contents.price();
  blocks::Choice own = contents.nothing(node);
  const auto consider = [&](const blocks::Choice& choice) {
    if (choice.cost(price) < own.cost(price)) own = choice;
  };
  consider(contents.dense(node));
  own = contents.sparse(node, own);
  consider(contents.low_rank(node, price));
  consider(contents.low_rank_and_dense(node));
  if (node.children == 0) return own.cost(price);
  double of_children = 0;
  for (Index c = 0; c < node.children; ++c) {
    of_children += least_cost(tree, contents, A, level + 1, tree.child(level, node, c));
  }
  return std::min(own.cost(price), of_children);
}

TEST(RateDistortion, NoMemberOfTheClassIsBelowTheBound) {
  std::mt19937 generator(7);
  for (int trial = 0; trial < 20; ++trial) {
    Matrix A = test::with_singular_values(
        24, 24, test::geometric_spectrum(24, 1.1 + 0.1 * trial), static_cast<std::uint64_t>(trial));
    if (trial % 2 == 0) A.topRightCorner(12, 12) *= 0.01;
    A /= 1.01 * A.cwiseAbs().maxCoeff();
    const blocks::HeldMatrix source(A, 0, false, 1);
    blocks::BlockTree tree(source, 3, 1);
    blocks::RateDistortion choices(tree, {64}, 6);
    for (double price = A.squaredNorm(); price > 1e-14; price /= 1.3) choices.at_price(price, {});
    double nearest = 0;
    for (int m = 0; m < 200; ++m) {
      Member member;
      choose_at_random(A, 3, generator, member);
      const double bound = choices.lower_bound(member.bytes);
      EXPECT_GE(member.squared_error + 1e-12 * A.squaredNorm(), bound) << member.bytes;
      if (member.squared_error > 0) nearest = std::max(nearest, bound / member.squared_error);
    }
    EXPECT_GT(nearest, 0.01) << "a bound that says nothing";
  }
}

/// A kernel matrix of points on a line, which decays away from the diagonal.
Matrix line_kernel(Index n) {
  Matrix A(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) A(i, j) = std::exp(-std::abs(static_cast<double>(i - j)) / 30);
  }
  return A;
}

// Searches of spectra that end early, are abandoned or never started raise the cost hardly at all.
// Slowly decreasing spectra from randomized searches, too small after the first few values, raise
// it a little more.
TEST(RateDistortion, WhatIsNotLookedForIsNotMissed) {
  std::vector<Example> examples{
      {"line", line_kernel(320)},
      {"low rank", test::with_singular_values(320, 320, test::geometric_spectrum(40, 1.2))},
      {"slow", test::with_singular_values(400, 330, test::harmonic_spectrum(330))},
      {"noise", test::random_matrix(300, 300)}};
  examples.resize(static_cast<std::size_t>(test::trials(4)));
  for (const Example& example : examples) {
    SCOPED_TRACE(example.name);
    const double most = example.name == "slow" ? 1.03 : 1.01;
    const Matrix A = example.A / (1.01 * example.A.cwiseAbs().maxCoeff());
    const bool symmetric = A.rows() == A.cols() && A == A.transpose();
    const blocks::HeldMatrix source(A, 0, symmetric, 1);
    blocks::BlockTree tree(source, 32, 1);
    blocks::RateDistortion choices(tree, {3, 4, 6, 8, 12, 16, 32, 64}, 12);
    blocks::BlockTree whole(source, 32, 1);
    blocks::ContentChoices contents(whole, {3, 4, 6, 8, 12, 16, 32, 64}, 12);
    for (const double part : {1e-4, 1e-6, 1e-9}) {
      const double price = part * A.squaredNorm();
      contents.set_price(price);
      const double least = least_cost(whole, contents, A, 0, whole.root());
      const blocks::Total total = choices.at_price(price, {});
      const double cost = total.squared_error + price * total.bytes;
      EXPECT_GE(cost, (1 - 1e-6) * least) << part;
      EXPECT_LE(cost, most * least) << part;
    }
  }
}

/// 1 / (i - j + 1/2), with equal blocks along each diagonal: if the budget is too small for all of
/// them, some are stored more accurately than others.
TEST(Hierarchical, EqualBlocksShareABudget) {
  Matrix A(150, 150);
  for (Index j = 0; j < 150; ++j) {
    for (Index i = 0; i < 150; ++i) A(i, j) = 1 / (static_cast<double>(i - j) + 0.5);
  }
  for (const double budget : {1440.0, 1620.0, 1800.0}) {
    HierarchicalOptions options;
    options.budget = bytes(budget);
    const Approximation found = hierarchical(DenseOperator(A), options);
    EXPECT_GE(static_cast<double>(found.storage().bytes), 0.98 * budget) << budget;
  }
}

// The squares agree with LAPACK up to the remainder, and the remainder is as small as requested.
TEST(LeadingSquares, LeaveWhatIsNegligible) {
  for (const double ratio : {1.05, 1.3, 3.0}) {
    const Matrix B = test::with_singular_values(90, 70, test::geometric_spectrum(70, ratio));
    const Vector all = Eigen::BDCSVD<Matrix>(B).singularValues().cwiseAbs2();
    for (const double least : {1e-2, 1e-6}) {
      const blocks::LeadingSquares found = blocks::squares_down_to(B, least);
      EXPECT_NEAR(found.values.sum() + found.rest, B.squaredNorm(), 1e-12 * B.squaredNorm());
      EXPECT_LE(found.rest, blocks::kSearchedRest * least);
      EXPECT_LE((all.head(found.values.size()) - found.values).cwiseAbs().maxCoeff(),
                found.rest + 1e-13 * all(0));
    }
  }
}

// For a large block the search finds the leading squares; an abandoned search leaves lower bounds
// of them.
TEST(LeadingSquares, OfLargeBlocksAreThoseOrBoundsOfThose) {
  const Matrix A = line_kernel(1300);
  const Vector all = kernels::symmetric_eigen(A).values.cwiseAbs2().reverse();  // from LAPACK
  const blocks::HeldMatrix source(A, 0, true, 1);
  blocks::BlockTree tree(source, 600, 1);
  const double least = all(40);
  source.find_spectrum(
      tree.root(), 48, least, [](const Vector& squares) { return squares.size() > 20; });
  EXPECT_EQ(tree.root().squares.size(), 0);
  const Vector bounds = tree.root().square_bounds;
  ASSERT_GT(bounds.size(), 20);
  EXPECT_GE(bounds(0), 0.05 * all(0));
  EXPECT_LE((bounds - all.head(bounds.size())).maxCoeff(), 1e-10 * all(0));

  source.find_spectrum(tree.root(), 48, least, [](const Vector& /*squares*/) { return false; });
  const Vector found = tree.root().squares;
  ASSERT_GT(found.size(), 40);
  EXPECT_LE(
      (found - all.head(found.size())).head(40).cwiseQuotient(all.head(40)).cwiseAbs().maxCoeff(),
      0.03);
}

// Bounds that blocks get from their parts are below the squares of LAPACK. Those of some blocks on
// the diagonal are above the squares of each part, because the rest of such a block has low rank.
// If all parts are equal, the whole has no more of them than each part.
TEST(RateDistortion, BoundsFromPartsHold) {
  const Matrix line = line_kernel(700);
  const Matrix wide = Matrix(line.topRows(300));
  Index ruled_out = 0;
  const Matrix alike = test::with_singular_values(125, 125, Vector::Ones(12)).replicate(4, 4);
  for (const Matrix* A : {&line, &wide, &alike}) {
    const blocks::HeldMatrix source(*A, 0, A == &line, 1);
    for (const double price : {1e-6, 1e-9, 1e-11}) {
      blocks::BlockTree tree(source, 32, 1);
      blocks::RateDistortion choices(tree, {3, 4, 6, 8, 12, 16, 32, 64}, 12);
      choices.at_price(price, {});
      for (std::size_t level = 0; level < tree.levels().size(); ++level) {
        for (const blocks::Node& node : tree.levels()[level]) {
          const Index known = node.square_bounds.size();
          if (known <= 8) continue;
          const Matrix block = A->block(node.row, node.column, node.rows, node.columns);
          const Vector all = kernels::singular_values(block).cwiseAbs2();
          const Index count = std::min(known, all.size());
          EXPECT_LE((node.square_bounds.head(count) - all.head(count)).maxCoeff(), 1e-13 * all(0));
          EXPECT_LE(node.square_bounds.tail(known - count).sum(), 1e-13 * all(0));
          double of_parts = 0;
          for (Index c = 0; c < node.children; ++c) {
            const Vector& bounds = tree.child(level, node, c).square_bounds;
            if (bounds.size() > 8) of_parts = std::max(of_parts, bounds(8));
          }
          ruled_out += node.squares.size() == 0 && node.square_bounds(8) > 1.01 * of_parts;
        }
      }
    }
  }
  EXPECT_GT(ruled_out, 0);
}

// Points on a line are nearer in their order than in any other; in random order the spectral one
// finds it again.
TEST(Hierarchical, ASampleShowsWhichOrderIsNearer) {
  const Matrix line = line_kernel(900);
  std::vector<Index> places = index_range(0, 900);
  for (Index k = 0; k < 900; ++k) places[static_cast<std::size_t>(k)] = 7 * 47 * k % 900;
  const Matrix mixed = line(places, places);
  const double bytes = 0.02 * 8 * 900 * 900;
  constexpr double kAnyBytes = std::numeric_limits<double>::infinity();
  EXPECT_GT(spectral_order_gain(DenseOperator(mixed), bytes, 0, 1), 10);
  EXPECT_LT(spectral_order_gain(DenseOperator(line), bytes, 0, 1), 1);
  EXPECT_GT(spectral_order_gain(DenseOperator(mixed), kAnyBytes, 1e-3, 1), 1.5);
  EXPECT_LT(spectral_order_gain(DenseOperator(line), kAnyBytes, 1e-3, 1), 1);
  EXPECT_EQ(spectral_order_gain(DenseOperator(Matrix::Zero(300, 300)), bytes, 0, 1), 1);
  EXPECT_REFUSED(InvalidArgument,
                 spectral_order_gain(DenseOperator(Matrix::Zero(300, 200)), bytes, 0, 1),
                 "this one is 300 x 200");
}

// For values in doubles the error is at most the tolerance and at least half of it.
TEST(RateDistortion, WhatIsPromisedIsWhatComesOut) {
  const Matrix A = smooth(96);
  for (const double tolerance : {0.1, 0.01}) {
    const Approximation found =
        hierarchical(DenseOperator(A), {.frobenius_tolerance = tolerance, .widths = {64}});
    EXPECT_LE(error_of(found, A), tolerance);
    EXPECT_GE(error_of(found, A), 0.5 * tolerance);
  }
}

TEST(Hierarchical, RefusesWrongOptions) {
  const DenseOperator A(smooth(20));
  EXPECT_REFUSED(InvalidArgument, hierarchical(A, {.widths = {4, 17}}), "width of 17 bits");
  EXPECT_REFUSED(
      InvalidArgument, hierarchical(A, {.widths = {}}), "at least one width is required");
  EXPECT_REFUSED(InvalidArgument, hierarchical(A, {.frobenius_tolerance = 1}), "outside 0..1");
  EXPECT_REFUSED(InvalidArgument, hierarchical(A, {.leaf = 21}), "leaf 21 is outside 0..20");
  EXPECT_REFUSED(
      InvalidArgument, hierarchical(A, {.order = BlockOrder::kPoints}), "requires a kernel matrix");
  EXPECT_REFUSED(InvalidArgument,
                 hierarchical(DenseOperator(Matrix::Ones(3, 4)), {.order = BlockOrder::kRcm}),
                 "only a square matrix");
  Matrix bad = smooth(20);
  bad(3, 4) = std::nan("");
  EXPECT_REFUSED(NumericalError, hierarchical(DenseOperator(bad)), "nan");
  EXPECT_REFUSED(NumericalError,
                 hierarchical(DenseOperator(Matrix::Constant(9, 9, 1e-305))),
                 "multiply the matrix by a power of 2");
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_REFUSED(Interrupted, hierarchical(A, {}, control), "hierarchical");
}

}  // namespace
}  // namespace matapprox
