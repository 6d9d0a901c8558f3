#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "matapprox/methods/hierarchical.hpp"
#include "matapprox/operators/lazy.hpp"
#include "methods/hierarchical/block_fit.hpp"
#include "methods/hierarchical/peeling.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// A matrix that supports only products: a column costs as much as a product.
class Multiplier final : public LinearOperator {
 public:
  explicit Multiplier(Matrix A) : A_(std::move(A)) {}
  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Cost cost() const override {
    const auto all = static_cast<double>(A_.size());
    return {.multiplications_per_apply = all, .multiplications_per_column = all};
  }
  std::string description() const override { return "products alone"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override { Y = A_ * X; }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { Y = A_.transpose() * X; }
  Matrix A_;
};

/// The inverse of a tridiagonal matrix with 2 + shift on the diagonal and -1 beside it: every
/// off-diagonal block has rank one.
class TridiagonalInverse final : public LinearOperator {
 public:
  TridiagonalInverse(Index n, double shift) : pivots_(n) {
    for (Index i = 0; i < n; ++i) pivots_(i) = 2 + shift - (i > 0 ? 1 / pivots_(i - 1) : 0);
  }
  Index rows() const override { return pivots_.size(); }
  Index cols() const override { return pivots_.size(); }
  Cost cost() const override {
    const double all = 3 * static_cast<double>(rows());
    return {.multiplications_per_apply = all, .multiplications_per_column = all};
  }
  KnownFacts known_facts() const override {
    return {.symmetric = true, .nonzeros = {}, .frobenius_norm = {}};
  }
  std::string description() const override { return "inverse of a tridiagonal matrix"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    Y = X;
    for (Index i = 1; i < rows(); ++i) Y.row(i) += Y.row(i - 1) / pivots_(i - 1);
    Y.row(rows() - 1) /= pivots_(rows() - 1);
    for (Index i = rows() - 1; i-- > 0;) Y.row(i) = (Y.row(i) + Y.row(i + 1)) / pivots_(i);
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override { do_apply(X, Y); }
  Vector pivots_;
};

/// Fills A with random numbers such that the off-diagonal blocks of recursive halving have rank
/// `rank`.
void fill_halves(Index first, Index count, Index leaf, Index rank, Matrix& A) {
  if (count < 2 * leaf) {
    A.block(first, first, count, count) = test::random_matrix(count, count, 3);
    return;
  }
  const Index upper = (count + 1) / 2;
  const Index lower = count - upper;
  const auto seed = static_cast<std::uint64_t>(first + count);
  A.block(first, first + upper, upper, lower) =
      test::random_matrix(upper, rank, seed) * test::random_matrix(lower, rank, 7).transpose();
  A.block(first + upper, first, lower, upper) =
      test::random_matrix(lower, rank, seed + 1) * test::random_matrix(upper, rank, 9).transpose();
  fill_halves(first, upper, leaf, rank, A);
  fill_halves(first + upper, lower, leaf, rank, A);
}

Matrix halved_matrix(Index n, Index leaf, Index rank, bool symmetric) {
  Matrix A(n, n);
  fill_halves(0, n, leaf, rank, A);
  if (symmetric)
    A = A.triangularView<Eigen::Upper>().toDenseMatrix().selfadjointView<Eigen::Upper>();
  return A;
}

blocks::PeelOptions peel_options(bool symmetric) {
  blocks::PeelOptions options;
  options.leaf = 16;
  options.symmetric = symmetric;
  options.least = 1e-20;
  options.max_rank = 1000;
  options.max_products = 100000;
  return options;
}

TEST(Peeling, FindsWhatHasBlocksOfLowRank) {
  for (const bool symmetric : {false, true}) {
    for (const Index n : {250, 333}) {
      const Matrix A = halved_matrix(n, 16, 20, symmetric);
      const Multiplier multiplier(A);
      const auto found = blocks::PeeledMatrix::found(multiplier, peel_options(symmetric), {});
      ASSERT_TRUE(found.has_value());
      const Matrix X = test::random_matrix(n, 3);
      EXPECT_CLOSE(found->multiply(false, X), A * X, 1e-11);
      EXPECT_CLOSE(found->multiply(true, X), A.transpose() * X, 1e-11);
      // Four levels of 32 columns, on one side or both, and the leaves.
      EXPECT_LE(found->products(), (symmetric ? 1 : 2) * 4 * 2 * 32 + 32);
    }
  }
}

TEST(Peeling, StopsWhereTheErrorAllowsIt) {
  // The squared singular values of the blocks fall by a factor of 4 from one to the next.
  const Index n = 256;
  Matrix A = halved_matrix(n, 128, 1, false);
  Vector falling(128);
  for (Index k = 0; k < 128; ++k) falling(k) = std::pow(0.5, static_cast<double>(k));
  A.topRightCorner(128, 128) = test::with_singular_values(128, 128, falling);
  A.bottomLeftCorner(128, 128) = test::with_singular_values(128, 128, falling);
  blocks::PeelOptions options = peel_options(false);
  options.leaf = 128;
  options.least = 1e-8;
  const auto found = blocks::PeeledMatrix::found(Multiplier(A), options, {});
  ASSERT_TRUE(found.has_value());
  const double error = (found->multiply(false, Matrix::Identity(n, n)) - A).squaredNorm();
  EXPECT_LE(error, 1e-8);
  EXPECT_LE(found->products(), 4 * 32 + 128);
}

TEST(Peeling, GivesUpWhereRanksAreFull) {
  blocks::PeelOptions options = peel_options(false);
  options.max_products = 128;
  const Multiplier A(test::random_matrix(256, 256));
  EXPECT_FALSE(blocks::PeeledMatrix::found(A, options, {}).has_value());
}

TEST(PeeledBlocks, AreThoseOfTheMatrix) {
  for (const bool symmetric : {false, true}) {
    const Index n = 250;
    const Matrix A = halved_matrix(n, 16, 5, symmetric) / 64;
    auto found = blocks::PeeledMatrix::found(Multiplier(A), peel_options(symmetric), {});
    ASSERT_TRUE(found.has_value());
    const blocks::PeeledBlocks source(std::move(*found), 16);
    EXPECT_NEAR(source.energy(), A.squaredNorm(), 1e-10 * A.squaredNorm());
    blocks::BlockTree tree(source, 16, 1);
    blocks::RateDistortion choices(tree, {3, 4, 6, 8, 12, 16, 32, 64}, 12);
    const blocks::BlockFit fit = blocks::fit_within_tolerance(tree, choices, 1e-6, 1, {});
    const Matrix back = fit.encoded.blocks.apply(Matrix::Identity(n, n));
    const double error = (back - A).norm() / A.norm();
    EXPECT_LE(error, 1e-6);
    EXPECT_NEAR(std::sqrt(fit.encoded.squared_error) / A.norm(), error, 0.01 * error);
    for (const blocks::Level& level : tree.levels()) {
      for (const blocks::Node& node : level) {
        Matrix space;
        const auto B = A.block(node.row, node.column, node.rows, node.columns);
        EXPECT_CLOSE(source.block(node, space), B, 1e-10);
        if (!node.described) continue;
        EXPECT_NEAR(node.energy, B.squaredNorm(), 1e-9 * (A.squaredNorm() / n + B.squaredNorm()));
      }
    }
  }
}

TEST(PeeledSource, MissesNoMoreThanItsPartOfTheTolerance) {
  // The singular values of the off-diagonal blocks fall by a fifth from one to the next.
  const Index n = 1024;
  const Index half = n / 2;
  Matrix A = halved_matrix(n, 64, 1, true);
  Vector falling(half);
  for (Index k = 0; k < half; ++k) falling(k) = 100 * std::pow(0.8, static_cast<double>(k));
  A.topRightCorner(half, half) = test::with_singular_values(half, half, falling);
  A.bottomLeftCorner(half, half) = A.topRightCorner(half, half).transpose();
  const double tolerance = 1e-2;
  const auto source = blocks::peeled_source(Multiplier(A), 64, tolerance, 1e6, 1, {});
  ASSERT_TRUE(source.has_value());
  const double missed = std::sqrt(source->missed) / source->scale / A.norm();
  EXPECT_GT(missed, 0);
  EXPECT_LE(missed, 0.2 * tolerance);
  EXPECT_NEAR(source->blocks->energy(),
              std::pow(source->scale * A.norm(), 2),
              1e-3 * std::pow(source->scale * A.norm(), 2));
}

TEST(HierarchicalPeeling, ReachesAToleranceInFewProducts) {
  const TridiagonalInverse A(8300, 0.01);
  const CountedOperator counted(A);
  const double tolerance = 1e-4;
  const Approximation found = hierarchical(counted, {.frobenius_tolerance = tolerance});
  EXPECT_NE(found.summary.message.find("relative error is about"), std::string::npos);
  const Matrix X = test::random_matrix(8300, 20);
  const Matrix AX = A.apply(X);
  EXPECT_LE((found.apply(X) - AX).norm() / AX.norm(), 1.5 * tolerance);
  EXPECT_LE(found.storage().bytes, 8 * 8300 * 8);
  std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  EXPECT_REFUSED(Interrupted, hierarchical(A, {}, control), "hierarchical");
}

TEST(HierarchicalPeeling, BitsDoNotDependOnTheThreads) {
  const Matrix A = halved_matrix(300, 16, 5, false);
  const Matrix X = test::random_matrix(300, 2);
  const test::ThreadCount one(1);
  const Matrix first =
      blocks::PeeledMatrix::found(Multiplier(A), peel_options(false), {})->multiply(false, X);
  const test::ThreadCount several(3);
  EXPECT_SAME_BITS(
      blocks::PeeledMatrix::found(Multiplier(A), peel_options(false), {})->multiply(false, X),
      first);
}

}  // namespace
}  // namespace matapprox
