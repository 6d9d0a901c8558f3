#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/objective.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/finite_differences.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using chord_fit::Target;

/// A(i, j) = value(i, j), computed on request: nothing is stored, so any order is affordable.
class Formula final : public LinearOperator {
 public:
  Formula(Index n, double (*value)(Index, Index)) : n_(n), value_(value) {}
  Index rows() const override { return n_; }
  Index cols() const override { return n_; }
  Cost cost() const override { return {}; }
  std::string description() const override { return "formula"; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override {
    const auto J = index_range(0, n_);
    Y = columns_at(J) * X;
  }
  void do_apply_transpose(const ConstBlock& X, Block Y) const override {
    const auto J = index_range(0, n_);
    Y = columns_at(J).transpose() * X;
  }
  void do_columns_at(std::span<const Index> J, Block Y) const override {
    for (std::size_t c = 0; c < J.size(); ++c) {
      for (Index i = 0; i < n_; ++i) Y(i, static_cast<Index>(c)) = value_(i, J[c]);
    }
  }
  Index n_;
  double (*value_)(Index, Index);
};

/// All columns, through panels of `width`.
Matrix all_columns(const Target& target, Index width) {
  const Index n = target.order();
  Matrix result(n, n);
  for (Index first = 0; first < n; first += width) {
    const Index count = std::min(width, n - first);
    std::vector<double> panel(static_cast<std::size_t>(n * count));
    target.columns(first, count, panel.data());
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < count; ++c)
        result(i, first + c) = panel[static_cast<std::size_t>(i * count + c)];
    }
  }
  return result;
}

TEST(ChordTarget, IsAScaledToTheNormOfTheIdentity) {
  const Matrix A = test::random_matrix(70, 70);
  const DenseOperator op(A);
  const Target target(op, {});
  EXPECT_NEAR(target.unit(), A.norm() / std::sqrt(70.0), 1e-14 * A.norm());
  EXPECT_EQ(all_columns(target, 16), A / target.unit());
  EXPECT_EQ(all_columns(target, 7), A / target.unit());
}

TEST(ChordTarget, BeyondTheLargestCopyColumnsComeFromAItself) {
  const Index n = 4100;
  const Formula A(n, [](Index i, Index j) { return i == j ? 3.0 : i == j + 1 ? -4.0 : 0.0; });
  const Target target(A, {});
  EXPECT_NEAR(target.unit(), std::sqrt((9.0 * n + 16.0 * (n - 1)) / n), 1e-12);
  std::vector<double> panel(static_cast<std::size_t>(n * 3));
  target.columns(4095, 3, panel.data());
  const auto entry = [&](std::size_t i, std::size_t k) { return panel[3 * i + k]; };
  EXPECT_EQ(entry(4095, 0), 3.0 / target.unit());
  EXPECT_EQ(entry(4096, 0), -4.0 / target.unit());
  EXPECT_EQ(entry(4096, 1), 3.0 / target.unit());
  EXPECT_EQ(entry(4096, 2), 0.0);
}

TEST(ChordTarget, NormsNearTheEndsOfDoubleAreExact) {
  const Matrix A = test::random_matrix(5, 5);
  for (const double scale : {1e-200, 1e200}) {
    const DenseOperator op(A * scale);
    const Target target(op, {});
    EXPECT_NEAR(target.unit() / scale, A.norm() / std::sqrt(5.0), 1e-14 * A.norm());
    EXPECT_NEAR(all_columns(target, 2).norm(), std::sqrt(5.0), 1e-14);
  }
  const Formula huge(4, [](Index, Index) { return 1.7e308; });
  EXPECT_THROW(Target(huge, {}), NumericalError);
}

TEST(ChordTarget, AnEntryThatIsNotFiniteIsNamed) {
  const Formula nan(130, [](Index i, Index j) {
    return i == 3 && j == 128 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
  });
  const Formula inf(2, [](Index i, Index j) {
    return i == 1 && j == 0 ? std::numeric_limits<double>::infinity() : 1.0;
  });
  EXPECT_REFUSED(NumericalError, Target(nan, {}), "entry (3, 128)");
  EXPECT_REFUSED(NumericalError, Target(inf, {}), "entry (1, 0)");
}

TEST(ChordTarget, ObjectiveOfTheScaledTargetHasTheGradientOfItsDifferences) {
  const Index n = 11;
  const DenseOperator A(1e5 * test::random_matrix(n, n));
  const Target target(A, {});
  const ChordFactors chain = test::random_chain({n, {{0, 1, 4}, {0, 2}, {0, 3, 5, 10}}});
  const auto columns = [&](Index first, Index count, double* panel) {
    target.columns(first, count, panel);
  };
  const auto f = [&](const Vector& values) {
    return kernels::chord_objective(chain.pattern, values.data(), columns, nullptr);
  };
  const Vector values =
      Eigen::Map<const Vector>(chain.values.data(), chain.pattern.stored_numbers());
  const double expected =
      (test::chord_matrix(chain) - A.values() / target.unit()).squaredNorm() / 2;
  EXPECT_NEAR(f(values), expected, 1e-13 * expected);

  Vector gradient(values.size());
  kernels::chord_objective(chain.pattern, values.data(), columns, gradient.data());
  EXPECT_CLOSE(gradient, test::finite_difference_gradient(f, values), 1e-8);
}

}  // namespace
}  // namespace matapprox
