// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/adam.hpp"
#include "matapprox/core/types.hpp"
#include "support/random_block.hpp"

namespace matapprox::kernels {
namespace {

SoapStep step_number(Index t) {
  return {.number = t,
          .adam = {.mean_decay = 0.9,
                   .square_decay = 0.8,
                   .mean_step = 0.01 / (1 - std::pow(0.9, t)),
                   .square_scale = 1 / std::sqrt(1 - std::pow(0.8, t)),
                   .epsilon = 1e-12},
          .product_decay = 0.95};
}

/// `rows` rows of K values, initially 1, and the state of their steps.
struct Rows {
  Rows(Index rows, Index links)
      : K(links),
        x(Matrix::Ones(K, rows)),
        mean(Matrix::Zero(K, rows)),
        block(static_cast<std::size_t>(soap_block_size(K))) {
    start_soap(K, block.data());
  }
  /// Column r of `gradient` is the gradient of row r.
  void step(Index t, const Matrix& gradient) {
    soap_step(step_number(t), x.cols(), K, gradient.data(), mean.data(), block.data(), x.data());
  }
  /// Row p is axis p.
  Matrix axes(Index row) const { return square_matrix(0, row); }
  Matrix products(Index row) const { return square_matrix(K * K, row); }

  Index K;
  Matrix x;
  Matrix mean;
  std::vector<float> block;

 private:
  Matrix square_matrix(Index first, Index row) const {
    Matrix result(K, K);
    for (Index p = 0; p < K; ++p) {
      for (Index q = 0; q < K; ++q)
        result(p, q) = block[static_cast<std::size_t>(kSoapRows * (first + p * K + q) + row)];
    }
    return result;
  }
};

/// Adam along given axes, in double precision.
struct AdamAlong {
  void step(Index t, const Matrix& axes, const Vector& g) {
    const AdamStep s = step_number(t).adam;
    const Vector along = axes * g;
    mean = s.mean_decay * mean + (1 - s.mean_decay) * g;
    square = s.square_decay * square + (1 - s.square_decay) * along.cwiseAbs2();
    const Vector move =
        (axes * mean).array() / (s.square_scale * square.array().sqrt() + s.epsilon);
    x -= s.mean_step * axes.transpose() * move;
  }
  Vector x;
  Vector mean = Vector::Zero(x.size());
  Vector square = Vector::Zero(x.size());
};

class Soap : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

TEST_P(Soap, FirstStepIsAdams) {
  for (const Index K : {1, 2, 3, 9}) {
    Rows rows(11, K);
    const Matrix gradient = test::random_block<Matrix>(K, 11, 1);
    rows.step(1, gradient);
    // The bias correction makes the running means g and g^2: every value moves by the step size.
    const Matrix moved = Matrix::Ones(K, 11) - 0.01 * gradient.cwiseSign();
    EXPECT_LE((rows.x - moved).cwiseAbs().maxCoeff(), 1e-8) << K;
    EXPECT_EQ(rows.mean, Matrix((1 - 0.9) * gradient)) << K;
  }
}

/// If only one coordinate has a gradient, the axes do not rotate.
TEST_P(Soap, AlongOneCoordinateIsAdamThroughout) {
  Rows rows(16, 4);
  AdamAlong adam{.x = Vector::Ones(4)};
  for (Index t = 1; t <= 40; ++t) {
    Vector g = Vector::Zero(4);
    g(2) = std::cos(0.3 * static_cast<double>(t));
    rows.step(t, g.replicate(1, 16));
    adam.step(t, Matrix::Identity(4, 4), g);
  }
  for (Index r = 0; r < 16; ++r) EXPECT_LE((rows.x.col(r) - adam.x).norm(), 1e-6) << r;
}

/// Gradients of a fixed covariance whose axes differ from the coordinate axes: along the converged
/// axes their entries are nearly uncorrelated.
TEST_P(Soap, AxesTurnToThoseOfTheGradients) {
  for (const Index K : {2, 5, 8}) {
    const Vector v = Vector::LinSpaced(K, 1.0, 2.0).normalized();
    const Matrix Q = Matrix::Identity(K, K) - 2 * v * v.transpose();
    const auto gradient = [&](Index t) -> Vector {
      Vector g(K);
      for (Index k = 0; k < K; ++k)
        g(k) = std::pow(3.0, k) * std::sin((1.1 + 0.37 * static_cast<double>(k)) * t);
      return Q * g;
    };
    Rows rows(13, K);
    Index t = 0;
    while (t < 1000) {
      ++t;
      rows.step(t, gradient(t).replicate(1, 13));
    }
    for (const Index row : {0, 7, 12}) {
      const Matrix axes = rows.axes(row);
      EXPECT_LE((axes * axes.transpose() - Matrix::Identity(K, K)).norm(),
                std::numeric_limits<float>::epsilon() * static_cast<double>(K * t))
          << K;
      const Matrix products = rows.products(row);
      const Vector scale = products.diagonal().cwiseSqrt();
      const Matrix correlations =
          scale.cwiseInverse().asDiagonal() * products * scale.cwiseInverse().asDiagonal();
      EXPECT_LE((correlations - Matrix::Identity(K, K)).cwiseAbs().maxCoeff(), 0.4) << K;
    }
  }
}

TEST_P(Soap, TheProductsAreThoseOfTheGradientsAlongTheAxes) {
  const Index K = 5;
  Rows rows(16, K);
  Matrix products = Matrix::Zero(K, K);
  for (Index t = 1; t <= 60; ++t) {
    const Vector g = test::random_block<Vector>(K, 100 + t);
    rows.step(t, g.replicate(1, 16));
    products = 0.95 * products + (1 - 0.95) * g * g.transpose();
  }
  for (const Index row : {0, 15}) {
    const Matrix axes = rows.axes(row);
    const Matrix along = axes * products * axes.transpose();
    EXPECT_LE((rows.products(row) - along).norm(), 1e-5 * along.norm());
  }
}

/// Rows after the last row of a matrix keep their axes.
TEST_P(Soap, RowsDoNotKnowOfEachOther) {
  const Index K = 6;
  Rows all(16, K);
  Rows few(3, K);
  for (Index t = 1; t <= 30; ++t) {
    const Matrix gradient = test::random_block<Matrix>(K, 16, 200 + t);
    all.step(t, gradient);
    few.step(t, gradient.leftCols(3));
  }
  EXPECT_EQ(few.x, Matrix(all.x.leftCols(3)));
  EXPECT_EQ(few.axes(9), Matrix(Matrix::Identity(K, K)));
}

/// Squares that underflow in floats, and gradients of 0.
TEST_P(Soap, SmallGradientsAreNoTrouble) {
  for (const double scale : {0.0, 1e-15, 1e-22, 1e-30}) {
    Rows rows(16, 7);
    for (Index t = 1; t <= 50; ++t)
      rows.step(t, scale * test::random_block<Matrix>(7, 16, 300 + t));
    EXPECT_TRUE(rows.x.allFinite()) << scale;
    const Matrix axes = rows.axes(4);
    EXPECT_LE((axes * axes.transpose() - Matrix::Identity(7, 7)).norm(), 1e-5) << scale;
  }
}

INSTANTIATE_TEST_SUITE_P(All,
                         Soap,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

}  // namespace
}  // namespace matapprox::kernels
