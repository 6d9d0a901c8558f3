#include <gtest/gtest.h>

#include "methods/chord/chain.hpp"
#include "methods/chord/optimizers.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// Column p is the derivative of all entries of the product with respect to stored number p. The
/// product is linear in each number, so a difference of any width is exact up to rounding.
Matrix jacobian(const ChordFactors& chain, bool symmetrized) {
  const Index n = chain.pattern.order;
  Matrix J(n * n, chain.pattern.stored_numbers());
  for (Index p = 0; p < J.cols(); ++p) {
    ChordFactors above = chain;
    ChordFactors below = chain;
    above.values[static_cast<std::size_t>(p)] += 0.5;
    below.values[static_cast<std::size_t>(p)] -= 0.5;
    Matrix slope = test::chord_matrix(above) - test::chord_matrix(below);
    if (symmetrized) slope = ((slope + slope.transpose()) / 2).eval();
    J.col(p) = slope.reshaped();
  }
  return J;
}

TEST(ChordGaussNewton, IsJTransposeJ) {
  const std::vector<ChordPattern> patterns{
      {1, {{0}}},
      {2, {{0, 1}, {1}}},
      {3, {{0, 1, 2}}},
      {7, {{0, 1, 4}, {0, 2}, {0, 3, 5, 6}}},
      chord_reference_pattern(9),
  };
  for (const ChordPattern& pattern : patterns) {
    const ChordFactors chain = test::random_chain(pattern);
    for (const auto form : {kernels::ChordForm::kProduct, kernels::ChordForm::kSymmetrized}) {
      const chord_fit::Form shape{"", pattern, form};
      const Matrix J = jacobian(chain, shape.symmetrized());
      Matrix result;
      chord_fit::gauss_newton_matrix(shape, chain.values.data(), result);
      const Matrix whole = result.selfadjointView<Eigen::Lower>();
      EXPECT_CLOSE(whole, J.transpose() * J, 1e-13) << pattern.order << shape.symmetrized();
    }
  }
}

TEST(ChordGaussNewton, HasTheSameBitsForEveryThreadCount) {
  const ChordFactors chain = test::random_chain(chord_reference_pattern(20));
  const auto with_threads = [&](int count) {
    const test::ThreadCount threads(count);
    Matrix result;
    chord_fit::gauss_newton_matrix(
        {"", chain.pattern, kernels::ChordForm::kSymmetrized}, chain.values.data(), result);
    return Matrix(result.triangularView<Eigen::Lower>());
  };
  const Matrix one = with_threads(1);
  EXPECT_EQ(with_threads(2), one);
  EXPECT_EQ(with_threads(3), one);
}

}  // namespace
}  // namespace matapprox
