#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/methods/chord.hpp"
#include "support/attention.hpp"
#include "support/dense_formulas.hpp"

// The effective matrix of each mechanism against its formula with N x N arrays.

namespace matapprox {
namespace {

using attention::TokenMatrix;
using test::expect_same_matrix;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kTokenWidth = 12;
constexpr Index kHeads = 3;
constexpr Index kHeadWidth = kTokenWidth / kHeads;

/// A mechanism for N tokens of width kTokenWidth.
struct Example : test::AttentionExample {
  Example(const std::string& mechanism, Index n, Index heads, const NamedOptions& options)
      : AttentionExample(mechanism, random_tokens(n, kTokenWidth, 1), heads, options) {}
};

const double kScale = 1 / std::sqrt(static_cast<double>(kHeadWidth));

TEST(AttentionFormula, Linformer) {
  Example e("linformer", 37, kHeads, {{"rank", "5"}, {"scope", "head"}});
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix E = parameter_of(e.run, "a.E" + std::to_string(h));
    const Matrix F = parameter_of(e.run, "a.F" + std::to_string(h));
    const Matrix P = row_softmax(kScale * e.query(h) * (E * e.key(h)).transpose());
    expect_same_matrix(e.effective(h), P * F);
  }
}

/// For E = F = I it is softmax attention.
TEST(AttentionFormula, LinformerWithIdentityIsSoftmax) {
  Example e("linformer", 37, kHeads, {{"rank", "37"}, {"tied", "true"}});
  e.parameter("a.E").setIdentity();
  for (Index h = 0; h < kHeads; ++h)
    expect_same_matrix(e.effective(h), row_softmax(kScale * e.query(h) * e.key(h).transpose()));
}

TEST(AttentionFormula, RevisitedLinformer) {
  Example e("revisited_linformer", 37, kHeads, {{"rank", "5"}});
  Example printed("revisited_linformer", 37, kHeads, {{"rank", "5"}, {"axes", "as_printed"}});
  const Matrix E = parameter_of(e.run, "a.E");
  const Matrix F = parameter_of(e.run, "a.F");
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix Q = kScale * e.query(h);
    const Matrix EK = kScale * E * e.key(h);
    expect_same_matrix(e.effective(h), row_softmax(Q) * row_softmax(EK.transpose()) * F);
    expect_same_matrix(printed.effective(h),
                       row_softmax(Q.transpose()).transpose() * row_softmax(EK).transpose() * F);
  }
}

TEST(AttentionFormula, RevisitedLinformerWithOneFixedProjection) {
  Example e(
      "revisited_linformer", 37, kHeads, {{"rank", "5"}, {"projection", "jl"}, {"delta", "0.25"}});
  const Matrix R = parameter_of(e.run, "a.R");
  EXPECT_FALSE(e.list.find("a.R").trained);
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix L = row_softmax((kScale * 0.25 * R * e.key(h)).transpose());
    expect_same_matrix(e.effective(h), row_softmax(kScale * e.query(h)) * L * std::exp(-0.25) * R);
  }
}

/// For E = F = I it is scaled efficient attention.
TEST(AttentionFormula, Efficient) {
  Example plain("efficient", 37, kHeads, {});
  Example e("efficient", 37, kHeads, {{"scaled", "true"}});
  Example revisited("revisited_linformer", 37, kHeads, {{"rank", "37"}});
  for (const char* name : {"a.E", "a.F"}) revisited.parameter(name).setIdentity();
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix E =
        row_softmax(kScale * e.query(h)) * row_softmax((kScale * e.key(h)).transpose());
    expect_same_matrix(e.effective(h), E);
    expect_same_matrix(revisited.effective(h), E);
    expect_same_matrix(plain.effective(h),
                       row_softmax(e.query(h)) * row_softmax(e.key(h).transpose()));
  }
}

TEST(AttentionFormula, Simpletron) {
  Example e("simpletron", 37, kHeads, {});
  Example mean("simpletron", 37, kHeads, {{"scale", "inv_n"}});
  for (Index h = 0; h < kHeads; ++h) {
    const Matrix S = e.query(h) * e.key(h).transpose();
    expect_same_matrix(e.effective(h), S / std::sqrt(37.0));
    expect_same_matrix(mean.effective(h), S / 37.0);
  }
}

/// f(2 X) = 8 f(X) without biases: a polynomial of degree three.
TEST(AttentionFormula, SimpletronIsHomogeneousOfDegreeThree) {
  Example e("simpletron", 37, kHeads, {});
  for (const char* name : {"a.query.bias", "a.key.bias", "a.value.bias"})
    e.parameter(name).setZero();
  const TokenMatrix<double> Y = e.run.forward(e.X, {});
  EXPECT_LT((e.run.forward(2 * e.X, {}) - 8 * Y).norm(), 1e-12 * Y.norm());
}

TEST(AttentionFormula, LinearTransformer) {
  Example e("linear_transformer", 37, kHeads, {});
  const auto phi = [](const Matrix& Z) {
    return Matrix(Z.unaryExpr([](double z) { return z > 0 ? z + 1 : std::exp(z); }));
  };
  for (Index h = 0; h < kHeads; ++h) {
    Matrix P = phi(e.query(h)) * phi(e.key(h)).transpose();
    for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum() + 1e-6;
    expect_same_matrix(e.effective(h), P);
  }
}

/// The causal forms are the lower triangles, over more than one run of 64 tokens.
TEST(AttentionFormula, CausalFormsAreTheLowerTriangle) {
  constexpr Index n = 150;
  attention::AttentionShape shape;
  shape.width = kTokenWidth;
  shape.heads = kHeads;
  shape.length = n;
  const TokenMatrix<double> X = random_tokens(n, kTokenWidth, 1);
  const auto effective = [&](bool causal) {
    attention::ParameterList list;
    shape.causal = causal;
    const auto layer =
        attention::make_attention<double>("simpletron", list, "a", shape, {{"scale", "none"}});
    test::LayerRun<double> run(*layer, list, kTokenWidth);
    TokenMatrix<double> E(n, n);
    layer->apply_map(run.context({}), X, 1, TokenMatrix<double>::Identity(n, n), E, run.cache);
    return Matrix(E);
  };
  expect_same_matrix(effective(true),
                     effective(false).triangularView<Eigen::Lower>().toDenseMatrix());
}

/// W_M ... W_1 with the outputs of the networks; with the residual E_m = W_m E_{m-1} + I.
class PsfFormula : public testing::TestWithParam<bool> {};

TEST_P(PsfFormula, IsTheProductOfItsFactors) {
  constexpr Index n = 37;
  Example e("psf", n, 1, {{"residual", GetParam() ? "true" : "false"}, {"hidden", "7"}});
  const ChordPattern pattern = chord_reference_pattern(n);
  const Matrix hidden = linear_of(e.run, "a.hidden", e.X).unaryExpr([](double x) {
    return x * 0.5 * std::erfc(-x / std::sqrt(2.0));
  });
  Matrix E = Matrix::Identity(n, n);
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Matrix W =
        linear_of(e.run, "a.factor" + std::to_string(m + 1), hidden.middleCols(7 * (m + 1), 7));
    Matrix dense = Matrix::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < pattern.links(m); ++k) {
        dense(i,
              (i + pattern.offsets[static_cast<std::size_t>(m)][static_cast<std::size_t>(k)]) %
                  n) += W(i, k);
      }
    }
    E = dense * E;
    if (GetParam()) E += Matrix::Identity(n, n);
  }
  expect_same_matrix(e.effective(0), E);
  const Matrix V0 = linear_of(e.run, "a.value", hidden.leftCols(7));
  expect_same_matrix(e.run.forward(e.X, {}), E * V0);
}

INSTANTIATE_TEST_SUITE_P(Residual, PsfFormula, testing::Bool());

/// W_m = I + P^(2^(m-1)), P the cyclic shift, gives the matrix of ones if N is a power of two: each
/// distance occurs exactly once. [butterfly]
TEST(AttentionFormula, PsfReachesEveryTokenOnce) {
  constexpr Index n = 16;
  Example e("psf", n, 1, {{"residual", "false"}});
  for (Index m = 0; m < 4; ++m) {
    const std::string name = "a.factor" + std::to_string(m + 1);
    e.parameter(name + ".weight").setZero();
    e.parameter(name + ".bias").setZero();
    e.parameter(name + ".bias")(0, 0) = 1;      // self
    e.parameter(name + ".bias")(0, m + 1) = 1;  // 2^m ahead
  }
  EXPECT_EQ(e.effective(0), Matrix::Ones(n, n));
}

}  // namespace
}  // namespace matapprox
