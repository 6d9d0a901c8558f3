#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/layers/dropout.hpp"
#include "support/attention.hpp"

// Attention dropout in mechanisms that are not plain softmax: their effective matrix in training
// against formulas with the same masks, whose random numbers attention_dropout_test.cpp checks.

namespace matapprox {
namespace {

using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr double kDroppedRate = 0.3;
constexpr attention::RandomKey kDroppedKey{.seed = 6, .sample = 2};
constexpr Index kDroppedTokens = 150;
constexpr Index kDroppedWidth = 12;

/// A mechanism with dropout and weights far from 0.
struct DroppedExample : AttentionExample {
  DroppedExample(const std::string& mechanism, Index head_count, const NamedOptions& options)
      : AttentionExample(mechanism,
                         random_tokens(kDroppedTokens, kDroppedWidth, 1),
                         head_count,
                         options,
                         false,
                         kDroppedRate) {
    for (const attention::Parameter& p : list.parameters()) {
      parameter(p.name) =
          0.4 * random_tokens(p.rows, p.cols, static_cast<std::uint64_t>(p.offset) + 1);
    }
    run.random = kDroppedKey;
  }
};

Matrix mask_of(const AttentionExample& e, Index head, Index rows, Index cols, Index site = 0) {
  attention::LayerContext<double> context;
  context.training = true;
  context.random = kDroppedKey;
  attention::TokenMatrix<double> M = attention::TokenMatrix<double>::Ones(rows, cols);
  attention::ProbabilityDropout(e.shape).apply<double>(context, head, 0, 0, M, site);
  return M;
}

/// The pattern is that of the matrix without dropout.
TEST(DropoutFormula, BigBird) {
  DroppedExample e("bigbird", 3, {{"block", "16"}, {"random_blocks", "1"}});
  for (const Index head : {0, 2}) {
    e.run.training = false;
    const Matrix whole = e.effective(head);
    e.run.training = true;
    expect_same_matrix(e.effective(head),
                       whole.cwiseProduct(mask_of(e, head, kDroppedTokens, kDroppedTokens)));
  }
}

TEST(DropoutFormula, Singularformer) {
  for (const char* shared : {"true", "false"}) {
    DroppedExample e("singularformer", 3, {{"rank", "70"}, {"shared_mixtures", shared}});
    const bool one = std::string(shared) == "true";
    const auto pooling = [&](const char* part) -> Matrix {
      const Matrix S = linear_of(e.run, std::string("a.mixture") + (one ? "" : part), e.X);
      return row_softmax(S.transpose());
    };
    const Matrix unfolding = row_softmax(linear_of(e.run, "a.mixture", e.X));
    e.run.training = true;
    for (const Index head : {0, 2}) {
      const Matrix A = row_softmax((pooling("_query") * e.query(head)) *
                                   (pooling("_key") * e.key(head)).transpose() / 2);
      expect_same_matrix(e.effective(head),
                         unfolding * A.cwiseProduct(mask_of(e, head, 70, 70)) * pooling("_value"));
    }
  }
}

/// Entries within a chunk, a(..), are dropped; the linear part between all tokens is not.
TEST(DropoutFormula, Flash) {
  for (const Index chunk : {Index{0}, Index{70}}) {
    DroppedExample e(
        "flash",
        1,
        {{"chunk", std::to_string(chunk)}, {"query_width", "4"}, {"relative_bias", "toeplitz"}});
    const Matrix Z = linear_of(e.run, "a.shared", e.X).unaryExpr([](double z) {
      return z / (1 + std::exp(-z));
    });
    const auto copy = [&](Index which) -> Matrix {
      const Matrix scaled = Z * parameter_of(e.run, "a.scales").row(which).asDiagonal();
      return scaled.rowwise() + parameter_of(e.run, "a.shifts").row(which);
    };
    Matrix global = Matrix::Zero(kDroppedTokens, kDroppedTokens);
    if (chunk != 0) global = copy(2) * copy(3).transpose() / static_cast<double>(kDroppedTokens);
    e.run.training = false;
    const Matrix local = e.effective(0) - global;
    e.run.training = true;
    expect_same_matrix(e.effective(0),
                       local.cwiseProduct(mask_of(e, 0, kDroppedTokens, kDroppedTokens)) + global);
  }
}

/// F1 Z F3 with dropout in the first and the last factor; Z is computed from a matrix without
/// dropout.
TEST(DropoutFormula, Nystromformer) {
  constexpr Index L = 5;
  DroppedExample e("nystromformer", 3, {{"landmarks", std::to_string(L)}, {"convolution", "0"}});
  Matrix means = Matrix::Zero(L, kDroppedTokens);
  constexpr Index kRunLength = kDroppedTokens / L;
  for (Index s = 0; s < L; ++s)
    means.row(s).segment(s * kRunLength, kRunLength).setConstant(1.0 / kRunLength);
  for (const Index head : {0, 2}) {
    const Matrix Ql = means * e.query(head);
    const Matrix Kl = means * e.key(head);
    const Matrix F1 = row_softmax(e.query(head) * Kl.transpose() / 2);
    const Matrix A = row_softmax(Ql * Kl.transpose() / 2);
    const Matrix F3 = row_softmax(Ql * e.key(head).transpose() / 2);
    const Matrix I = Matrix::Identity(L, L);
    Matrix Z = A.transpose() / A.colwise().sum().maxCoeff();
    for (Index step = 0; step < 6; ++step) {
      const Matrix P = A * Z;
      Z = (Z * (13 * I - P * (15 * I - P * (7 * I - P))) / 4).eval();
    }
    e.run.training = false;
    expect_same_matrix(e.effective(head), F1 * Z * F3);
    e.run.training = true;
    const Matrix to_landmarks = mask_of(e, head, kDroppedTokens, L, 0);
    const Matrix to_keys = mask_of(e, head, L, kDroppedTokens, 1);
    expect_same_matrix(e.effective(head),
                       F1.cwiseProduct(to_landmarks) * Z * F3.cwiseProduct(to_keys));
  }
}

}  // namespace
}  // namespace matapprox
