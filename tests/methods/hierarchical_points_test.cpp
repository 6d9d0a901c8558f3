#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/kernel.hpp"
#include "methods/hierarchical/block_fit.hpp"
#include "methods/hierarchical/blocks.hpp"
#include "methods/hierarchical/encoding.hpp"
#include "methods/hierarchical/kernel_blocks.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

const std::vector<int> kAllWidths{3, 4, 6, 8, 12, 16, 32, 64};
constexpr Index kPointLeaf = 32;
constexpr double kPlaceBytes = 12;

/// n points in the unit cube.
Matrix uniform_points(Index n, Index dimension) {
  Matrix points(n, dimension);
  for (Index i = 0; i < n; ++i) {
    for (Index d = 0; d < dimension; ++d) {
      points(i, d) = random_uniform(5, RandomStream::kGenerator, i, d);
    }
  }
  return points;
}

struct PointCase {
  KernelFunction function = KernelFunction::kGaussian;
  Index count = 0;
  Index dimension = 0;
  double bandwidth = 0;
  double tolerance = 0;
};

struct PointFit {
  double bytes = 0;
  double predicted = 0;  ///< relative errors
  double found = 0;
};

PointFit fit_points(const KernelOperator& A, double tolerance, bool held) {
  const std::vector<Index> order = blocks::median_order(A.points(), kPointLeaf);
  const Matrix dense = A.block(order, order);
  const blocks::KernelBlocks computed(A, order, kPointLeaf, 1);
  const Matrix scaled = dense * computed.scale();
  const blocks::HeldMatrix whole(scaled, 0, true, 1);
  const blocks::BlockSource& source =
      held ? static_cast<const blocks::BlockSource&>(whole) : computed;
  blocks::BlockTree tree(source, kPointLeaf, 1);
  blocks::RateDistortion choices(tree, kAllWidths, kPlaceBytes);
  const blocks::BlockFit fit =
      blocks::fit_within_tolerance(tree, choices, tolerance, 1 / computed.scale(), {});
  const Matrix back = fit.encoded.blocks.apply(Matrix::Identity(A.rows(), A.rows()));
  return {static_cast<double>(fit.encoded.blocks.storage().bytes),
          std::sqrt(fit.encoded.squared_error / tree.energy()),
          (back - dense).norm() / dense.norm()};
}

// The predicted error is accurate to a tenth, and the bytes are about those of a choice that knows
// the whole matrix.
TEST(HierarchicalPoints, AreAsGoodAsTheMatrixHeld) {
  for (const PointCase& of : {PointCase{KernelFunction::kMatern32, 900, 2, 0.1, 1e-2},
                              PointCase{KernelFunction::kMatern32, 700, 3, 0.2, 1e-3},
                              PointCase{KernelFunction::kGaussian, 900, 2, 0.1, 1e-3},
                              PointCase{KernelFunction::kGaussian, 700, 2, 2.0, 1e-6},
                              PointCase{KernelFunction::kLaplacian, 800, 2, 0.1, 1e-3},
                              PointCase{KernelFunction::kMatern52, 900, 1, 0.01, 1e-4},
                              PointCase{KernelFunction::kMatern32, 700, 2, 1e-4, 1e-2},
                              PointCase{KernelFunction::kPolynomial, 700, 3, 0, 1e-8},
                              PointCase{KernelFunction::kCosine, 700, 3, 0, 1e-4}}) {
    const KernelOperator A(uniform_points(of.count, of.dimension),
                           {.function = of.function, .bandwidth = of.bandwidth});
    const std::string name(enum_name(of.function));
    const PointFit computed = fit_points(A, of.tolerance, false);
    const PointFit held = fit_points(A, of.tolerance, true);
    EXPECT_LE(computed.found, 1.03 * of.tolerance) << name;
    EXPECT_NEAR(computed.found, computed.predicted, 0.1 * computed.predicted) << name;
    EXPECT_LE(computed.bytes, 1.15 * held.bytes) << name;
  }
}

TEST(HierarchicalPoints, LooksAtFewBlocksOfMany) {
  std::size_t before = 0;
  for (const Index n : {1000, 2000, 4000}) {
    const KernelOperator A(uniform_points(n, 2),
                           {.function = KernelFunction::kMatern32, .bandwidth = 0.1});
    const std::vector<Index> order = blocks::median_order(A.points(), kPointLeaf);
    const blocks::KernelBlocks source(A, order, kPointLeaf, 1);
    blocks::BlockTree tree(source, kPointLeaf, 1);
    blocks::RateDistortion choices(tree, kAllWidths, kPlaceBytes);
    choices.at_price(1e-11 * tree.energy(), {});
    std::size_t nodes = 0;
    for (const blocks::Level& level : tree.levels()) nodes += level.size();
    if (before > 0) {
      EXPECT_LE(nodes, 3 * before) << n;  // all nodes would be four times as many
    }
    before = nodes;
  }
}

TEST(HierarchicalPoints, AnOperatorOfManyPointsIsNotHeld) {
  const Matrix points = uniform_points(5000, 2);
  const KernelOperator A(points, {.function = KernelFunction::kMatern32, .bandwidth = 0.1});
  const Approximation found = hierarchical(A, {.frobenius_tolerance = 1e-2});
  EXPECT_NE(found.summary.message.find("relative error is about"), std::string::npos);
  std::vector<Index> some;
  for (Index j = 0; j < 5000; j += 50) some.push_back(j);
  const Matrix K = A.columns_at(some);
  EXPECT_LE((found.columns_at(some) - K).norm() / K.norm(), 1.1e-2);
  const StorageBudget budget{StorageBudget::Unit::kBytes, 100000};
  const Approximation within = hierarchical(A, {.budget = budget});
  EXPECT_LE(within.storage().bytes, 100000);
  EXPECT_LE((within.columns_at(some) - K).norm() / K.norm(), 0.1);
}

TEST(HierarchicalPoints, BitsDoNotDependOnTheThreads) {
  const KernelOperator A(uniform_points(4500, 2),
                         {.function = KernelFunction::kGaussian, .bandwidth = 0.1});
  const HierarchicalOptions options{.frobenius_tolerance = 0.05};
  const std::vector<Index> some{0, 17, 4499};
  const test::ThreadCount one(1);
  const Matrix back = hierarchical(A, options).columns_at(some);
  const test::ThreadCount several(3);
  EXPECT_SAME_BITS(hierarchical(A, options).columns_at(some), back);
}

TEST(HierarchicalPoints, StopsWhenAsked) {
  const KernelOperator A(uniform_points(5000, 2), {.bandwidth = 0.1});
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_REFUSED(Interrupted, hierarchical(A, {}, control), "hierarchical");
}

blocks::BlockEntries entries_of_kernel(const Matrix& B) {
  return [&B](std::span<const Index> I, std::span<const Index> J) -> Matrix { return B(I, J); };
}

TEST(CrossApproximation, FindsAMatrixOfItsRank) {
  const Matrix B = test::random_matrix(90, 7) * test::random_matrix(70, 7).transpose();
  blocks::CrossOptions options;
  options.least = 1e-20 * B.squaredNorm();
  options.strata = {{0, 45, 0, 70}, {45, 45, 0, 70}};
  const blocks::CrossApproximation found =
      blocks::cross_approximation(90, 70, entries_of_kernel(B), options);
  EXPECT_LE(found.X.cols(), 9);
  EXPECT_LE((found.X * found.Y.transpose() - B).norm(), 1e-9 * B.norm());
  EXPECT_LE(found.rest, 1e-18 * B.squaredNorm());
}

// Two parts without common rows or columns: pivots of one never lead to the other.
TEST(CrossApproximation, IsNotFooledByPartsThatPivotsMiss) {
  Matrix B = Matrix::Zero(64, 64);
  B.topLeftCorner(32, 32) = Vector::LinSpaced(32, 1, 2) * Vector::LinSpaced(32, 1, 3).transpose();
  B.bottomRightCorner(32, 32) =
      Vector::LinSpaced(32, 2, 1) * Vector::LinSpaced(32, 3, 1).transpose();
  blocks::CrossOptions options;
  options.least = 1e-16;
  for (const bool all_entries : {true, false}) {
    options.strata = {{0, 32, 0, 32}, {0, 32, 32, 32}, {32, 32, 0, 32}, {32, 32, 32, 32}};
    if (all_entries) options.strata.clear();
    const blocks::CrossApproximation found =
        blocks::cross_approximation(64, 64, entries_of_kernel(B), options);
    EXPECT_LE((found.X * found.Y.transpose() - B).norm(), 1e-12 * B.norm());
  }
}

TEST(CrossApproximation, SaysWhatItLeaves) {
  const Matrix B = test::with_singular_values(80, 60, test::geometric_spectrum(60, 1.5));
  blocks::CrossOptions options;
  options.max_rank = 10;
  const blocks::CrossApproximation found =
      blocks::cross_approximation(80, 60, entries_of_kernel(B), options);
  EXPECT_EQ(found.X.cols(), 10);
  const double left = (found.X * found.Y.transpose() - B).squaredNorm();
  EXPECT_CLOSE(Vector::Constant(1, found.rest), Vector::Constant(1, left), 1e-10);
  EXPECT_EQ(found.largest_square, B.cwiseAbs2().maxCoeff());
}

TEST(LeafEncoding, DistanceFromTripletsIsThatOfTheMatrices) {
  const Matrix U = test::random_orthonormal(40, 6, 1);
  const Matrix V = test::random_orthonormal(30, 6, 2);
  Vector values(6);
  values << 3, 2, 1, 0.5, 0.25, 0.125;
  const std::vector<int> bits{12, 8, 6, 3};
  blocks::EncodedLeaf leaf;
  const blocks::Triplets general{U, values, V};
  const blocks::StoredTriplets stored = blocks::encode_low_rank(general, bits, leaf);
  const Matrix B = U * values.asDiagonal() * V.transpose();
  const double left = (B - stored.product()).squaredNorm();
  EXPECT_NEAR(blocks::squared_distance(general, stored), left, 1e-13 * B.squaredNorm());
  // The truncated part, and the rounding of the rest.
  EXPECT_GT(left, values.tail(2).squaredNorm());
  EXPECT_LT(left, values.tail(2).squaredNorm() + 0.1);

  values << -3, 2, -1, 0.5, 0.25, 0.125;
  const blocks::Triplets symmetric{U, values, {}};
  const blocks::StoredTriplets half = blocks::encode_symmetric(symmetric, bits, leaf);
  const Matrix S = U * values.asDiagonal() * U.transpose();
  EXPECT_NEAR(blocks::squared_distance(symmetric, half),
              (S - half.product()).squaredNorm(),
              1e-13 * S.squaredNorm());
}

}  // namespace
}  // namespace matapprox
