// clang-format off: decides what Highway's headers list
#include "kernels/simd_targets.hpp"
// clang-format on
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <limits>
#include <string>
#include <vector>

#include "attention/kernels/chord_layer.hpp"
#include "support/random_block.hpp"

namespace matapprox::kernels {
namespace {

template <class T>
using RowMajor = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Offsets = std::vector<Index>;

/// Tests every function on every instruction set that it is compiled for and this CPU has.
class ChordLayer : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::GetChosenTarget().Update(GetParam()); }
  void TearDown() override { hwy::GetChosenTarget().Update(hwy::SupportedTargets()); }
};

INSTANTIATE_TEST_SUITE_P(Compiled,
                         ChordLayer,
                         ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& set) { return std::string(hwy::TargetName(set.param)); });

/// Row i holds W(i, k) in column (i + offsets[k]) mod n.
template <class T>
Matrix dense_layer_factor(const Offsets& offsets, const RowMajor<T>& W) {
  const Index n = W.rows();
  Matrix A = Matrix::Zero(n, n);
  for (Index i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      A(i, (i + offsets[k]) % n) += static_cast<double>(W(i, static_cast<Index>(k)));
    }
  }
  return A;
}

/// Numbers are at most 1 in magnitude, so that rounding is below (number of terms + 2) eps per
/// term.
template <class T>
double layer_tolerance(Index terms) {
  const double t = static_cast<double>(terms + 2);
  return t * t * static_cast<double>(std::numeric_limits<T>::epsilon());
}

template <class T>
void expect_layer(const Offsets& offsets, Index n, Index c, Index gap) {
  const auto links = static_cast<Index>(offsets.size());
  const Index ldw = links + gap;
  const RowMajor<T> W = RowMajor<T>::Random(n, ldw);
  const RowMajor<T> V = RowMajor<T>::Random(n, c);
  const RowMajor<T> G = RowMajor<T>::Random(n, c);
  const Matrix A = dense_layer_factor<T>(offsets, W);
  const Matrix V64 = V.template cast<double>();
  const Matrix G64 = G.template cast<double>();

  RowMajor<T> Y = RowMajor<T>::Constant(n, c, T{3});
  const ChordLayerShape shape{offsets, ldw, n, c};
  chord_layer<T>().forward(shape, W.data(), V.data(), Y.data());
  EXPECT_LE((Y.template cast<double>() - A * V64).cwiseAbs().sum(),
            layer_tolerance<T>(links) * n * c);

  RowMajor<T> dV = RowMajor<T>::Constant(n, c, T{3});
  chord_layer<T>().backward_values(shape, W.data(), G.data(), dV.data(), false);
  const Matrix expected = A.transpose() * G64;
  EXPECT_LE((dV.template cast<double>() - expected).cwiseAbs().sum(),
            layer_tolerance<T>(links) * n * c);
  chord_layer<T>().backward_values(shape, W.data(), G.data(), dV.data(), true);
  EXPECT_LE((dV.template cast<double>() - 2.0 * expected).cwiseAbs().sum(),
            2.0 * layer_tolerance<T>(links) * n * c);

  RowMajor<T> dW = RowMajor<T>::Constant(n, ldw, T{3});
  chord_layer<T>().backward_weights(shape, V.data(), G.data(), dW.data());
  const Matrix products = G64 * V64.transpose();
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < links; ++k) {
      const Index j = (i + offsets[static_cast<std::size_t>(k)]) % n;
      ASSERT_NEAR(dW(i, k), products(i, j), layer_tolerance<T>(c)) << i << " " << k;
    }
  }
  EXPECT_EQ(dW.rightCols(gap), RowMajor<T>::Constant(n, gap, T{3}));
}

template <class T>
void expect_layers(const Offsets& offsets, Index n, Index gap) {
  for (const Index c : {1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 32, 35, 75}) {
    SCOPED_TRACE("n " + std::to_string(n) + ", c " + std::to_string(c));
    expect_layer<T>(offsets, n, c, gap);
  }
}

void expect_layers(const Offsets& offsets, Index n, Index gap = 0) {
  expect_layers<float>(offsets, n, gap);
  expect_layers<double>(offsets, n, gap);
}

/// 0, 1, 2, 4, ... below n.
Offsets chord_offsets(Index n) {
  Offsets offsets = {0};
  for (Index offset = 1; offset < n; offset *= 2) offsets.push_back(offset);
  return offsets;
}

TEST_P(ChordLayer, AgreesWithTheDenseFactor) {
  for (const Index n : {2, 3, 16, 45, 64, 101}) expect_layers(chord_offsets(n), n);
}

TEST_P(ChordLayer, LeavesGapsBetweenRowsOfWeights) {
  expect_layers(chord_offsets(45), 45, 1);
  expect_layers(chord_offsets(45), 45, 6);
}

TEST_P(ChordLayer, OffsetsMayRepeatAndComeInAnyOrder) {
  expect_layers({5, 44, 0, 5, 5, 43}, 45);
  expect_layers({1}, 2);
  expect_layers({0, 0, 0, 0, 0}, 1);
}

TEST_P(ChordLayer, ManyLinksAndNone) {
  Offsets offsets;
  for (Index k = 0; k < 150; ++k) offsets.push_back(k * k % 37);
  expect_layers(offsets, 37);
  const std::vector<float> from(21, 1.0F);
  std::vector<float> to(21, 7.0F);
  chord_layer<float>().forward({{}, 0, 7, 3}, from.data(), from.data(), to.data());
  EXPECT_EQ(to, std::vector<float>(21, 0.0F));
}

/// Long sequences: a few rows by the definition, and <G, A V> = <A^T G, V> = <W, dW>.
TEST_P(ChordLayer, LongSequences) {
  const Index n = 5000;
  const Index c = 8;
  const Offsets offsets = chord_offsets(n);
  const auto links = static_cast<Index>(offsets.size());
  const RowMajor<double> W = test::random_block<RowMajor<double>>(n, links, 1);
  const RowMajor<double> V = test::random_block<RowMajor<double>>(n, c, 2);
  const RowMajor<double> G = test::random_block<RowMajor<double>>(n, c, 3);
  RowMajor<double> Y(n, c);
  RowMajor<double> dV(n, c);
  RowMajor<double> dW(n, links);
  const ChordLayerShape shape{offsets, links, n, c};
  const ChordLayerFunctions<double>& functions = chord_layer<double>();
  functions.forward(shape, W.data(), V.data(), Y.data());
  functions.backward_values(shape, W.data(), G.data(), dV.data(), false);
  functions.backward_weights(shape, V.data(), G.data(), dW.data());
  for (const Index i : {0, 903, 904, 905, 4998, 4999}) {
    Eigen::RowVectorXd row = Eigen::RowVectorXd::Zero(c);
    for (Index k = 0; k < links; ++k) {
      row += W(i, k) * V.row((i + offsets[static_cast<std::size_t>(k)]) % n);
    }
    EXPECT_LE((Y.row(i) - row).cwiseAbs().maxCoeff(), layer_tolerance<double>(links)) << i;
  }
  const double product = G.cwiseProduct(Y).sum();
  EXPECT_NEAR(dV.cwiseProduct(V).sum(), product, 1e-10);
  EXPECT_NEAR(dW.cwiseProduct(W).sum(), product, 1e-10);
}

}  // namespace
}  // namespace matapprox::kernels
