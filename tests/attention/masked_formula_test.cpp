#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "support/attention.hpp"

// Mechanisms on a sample with padding against their formulas with N x N arrays, in which every sum
// over tokens omits the rows of padding.

namespace matapprox {
namespace {

using test::AttentionExample;
using test::expect_same_matrix;
using test::linear_of;
using test::parameter_of;
using test::random_tokens;
using test::row_softmax;

constexpr Index kMaskedTokens = 36;
constexpr Index kMaskedWidth = 12;
constexpr Index kMaskedHeads = 3;

/// A mechanism on a sample with padding at its start, within it and at its end.
struct MaskedExample : AttentionExample {
  explicit MaskedExample(const std::string& mechanism, const NamedOptions& options = {})
      : AttentionExample(
            mechanism, 2 * random_tokens(kMaskedTokens, kMaskedWidth, 1), kMaskedHeads, options),
        real(Vector::Ones(kMaskedTokens)) {
    for (const Index i : {0, 7, 8, 20, 33, 34, 35}) real(i) = 0;
    for (Index i = 0; i < kMaskedTokens; ++i) mask.push_back(real(i) == 0 ? 0 : 1);
  }

  /// Zeroes the rows of padding.
  Matrix of_tokens(const Matrix& Y) const { return real.asDiagonal() * Y; }
  Matrix to_tokens(const Matrix& E) const { return E * real.asDiagonal(); }

  Vector real;  ///< 1 for a token, 0 for padding
  std::vector<std::uint8_t> mask;
};

/// Checks E of each head against the formula, and the output against E times the values of tokens.
/// Rows of padding are not compared: they are only guaranteed to be finite.
void expect_formula(MaskedExample& e, const std::function<Matrix(Index)>& formula) {
  Matrix H(kMaskedTokens, kMaskedWidth);
  for (Index h = 0; h < kMaskedHeads; ++h) {
    const Matrix E = formula(h);
    expect_same_matrix(e.of_tokens(e.effective(h, e.mask)), e.of_tokens(E));
    H.middleCols(h * 4, 4) = E * e.value(h);
  }
  const bool projected = e.run.list.parameters().back().name.starts_with("a.output");
  const Matrix Y = projected ? linear_of(e.run, "a.output", H) : H;
  expect_same_matrix(e.of_tokens(e.run.forward(e.X, e.mask)), e.of_tokens(Y));
}

/// exp(S) over the tokens only, each row divided by its sum.
Matrix softmax_over_tokens(const MaskedExample& e, const Matrix& S) {
  Matrix P = e.to_tokens(S.array().exp());
  for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum();
  return P;
}

TEST(MaskedFormula, Softmax) {
  MaskedExample e("softmax");
  expect_formula(e, [&](Index h) {
    return softmax_over_tokens(e, e.scale() * e.query(h) * e.key(h).transpose());
  });
}

/// Rows of padding, biases included, are removed from K and V before they are mixed; the k mixtures
/// contain no padding.
TEST(MaskedFormula, Linformer) {
  MaskedExample e("linformer", {{"rank", "5"}});
  const Matrix E = parameter_of(e.run, "a.E");
  const Matrix F = parameter_of(e.run, "a.F");
  expect_formula(e, [&](Index h) {
    const Matrix EK = E * e.of_tokens(e.key(h));
    return e.to_tokens(row_softmax(e.scale() * e.query(h) * EK.transpose()) * F);
  });
}

TEST(MaskedFormula, RevisitedLinformer) {
  MaskedExample e("revisited_linformer", {{"rank", "5"}});
  MaskedExample printed("revisited_linformer", {{"rank", "5"}, {"axes", "as_printed"}});
  const Matrix E = parameter_of(e.run, "a.E");
  const Matrix F = parameter_of(e.run, "a.F");
  const auto mixed_keys = [&](Index h) { return Matrix(e.scale() * E * e.of_tokens(e.key(h))); };
  expect_formula(e, [&](Index h) {
    const Matrix L = row_softmax(mixed_keys(h).transpose());
    return e.to_tokens(row_softmax(e.scale() * e.query(h)) * L * F);
  });
  // The printed form normalizes queries over tokens.
  expect_formula(printed, [&](Index h) {
    const Matrix columns = softmax_over_tokens(e, e.scale() * e.query(h).transpose());
    return e.to_tokens(columns.transpose() * row_softmax(mixed_keys(h)).transpose() * F);
  });
}

/// Keys are normalized over the tokens.
TEST(MaskedFormula, Efficient) {
  MaskedExample e("efficient");
  expect_formula(e, [&](Index h) {
    return Matrix(row_softmax(e.query(h)) * softmax_over_tokens(e, e.key(h).transpose()));
  });
}

/// N in the scale is the number of tokens without padding.
TEST(MaskedFormula, Simpletron) {
  const double tokens = kMaskedTokens - 7;
  for (const auto& [name, scale] : {std::pair<const char*, double>{"none", 1},
                                    {"inv_sqrt_n", 1 / std::sqrt(tokens)},
                                    {"inv_n", 1 / tokens}}) {
    MaskedExample e("simpletron", {{"scale", name}});
    expect_formula(e, [&, factor = scale](Index h) {
      return e.to_tokens(factor * e.query(h) * e.key(h).transpose());
    });
  }
}

TEST(MaskedFormula, LinearTransformer) {
  MaskedExample e("linear_transformer");
  const auto phi = [](const Matrix& Z) {
    return Matrix(Z.unaryExpr([](double z) { return z > 0 ? z + 1 : std::exp(z); }));
  };
  expect_formula(e, [&](Index h) {
    Matrix P = e.to_tokens(phi(e.query(h)) * phi(e.key(h)).transpose());
    for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum() + 1e-6;
    return P;
  });
}

/// The maximum that is subtracted from the exponents of keys is taken over tokens, not over
/// padding. Its size matters because of the 1e-4 that is added afterwards.
TEST(MaskedFormula, Performer) {
  MaskedExample e("performer", {{"features", "9"}});
  const Matrix Omega = parameter_of(e.run, "a.omega");
  const auto exponents = [&](const Matrix& Z) {
    const Matrix x = Z * std::sqrt(e.scale());
    return Matrix((x * Omega.transpose()).colwise() - 0.5 * x.rowwise().squaredNorm());
  };
  int heads_with_larger_padding = 0;
  expect_formula(e, [&](Index h) {
    Matrix F = exponents(e.query(h));
    F.colwise() -= Vector(F.rowwise().maxCoeff());
    Matrix G = exponents(e.key(h));
    double largest = -INFINITY;
    for (Index i = 0; i < kMaskedTokens; ++i) {
      if (e.real(i) == 1) largest = std::max(largest, G.row(i).maxCoeff());
    }
    heads_with_larger_padding += G.maxCoeff() > largest ? 1 : 0;
    G.array() -= largest;
    Matrix P = e.to_tokens((F.array().exp() + 1e-4).matrix() *
                           (G.array().exp() + 1e-4).matrix().transpose());
    P /= static_cast<double>(Omega.rows());
    for (Index i = 0; i < P.rows(); ++i) P.row(i) /= P.row(i).sum() + 1e-6;
    return P;
  });
  EXPECT_GT(heads_with_larger_padding, 0);  // otherwise the maximum over all rows would pass
}

/// Six steps towards the pseudo-inverse. [XZC+21, Eq. 11]
Matrix six_steps(const Matrix& A) {
  const Matrix I = Matrix::Identity(A.rows(), A.cols());
  Matrix Z = A.transpose() / (A.colwise().sum().maxCoeff() * A.rowwise().sum().maxCoeff());
  for (int step = 0; step < 6; ++step) {
    const Matrix AZ = A * Z;
    Z = 0.25 * Z * (13 * I - AZ * (15 * I - AZ * (7 * I - AZ)));
  }
  return Z;
}

/// Six runs of six rows with 3 to 6 tokens: a landmark is the mean over the tokens of its run.
/// Neither F3 nor the convolution sees padding.
TEST(MaskedFormula, Nystromformer) {
  MaskedExample e("nystromformer", {{"landmarks", "6"}, {"convolution", "5"}});
  Matrix means = Matrix::Zero(6, kMaskedTokens);
  for (Index s = 0; s < 6; ++s) {
    const Vector run = e.real.segment(6 * s, 6);
    means.row(s).segment(6 * s, 6) = run.transpose() / run.sum();
  }
  const Matrix kernel = parameter_of(e.run, "a.convolution");
  expect_formula(e, [&](Index h) {
    const Matrix Ql = e.scale() * means * e.query(h);
    const Matrix Kl = means * e.key(h);
    const Matrix F1 = row_softmax(e.scale() * e.query(h) * Kl.transpose());
    const Matrix F3 = softmax_over_tokens(e, Ql * e.key(h).transpose());
    Matrix C = Matrix::Zero(kMaskedTokens, kMaskedTokens);
    for (Index i = 0; i < kMaskedTokens; ++i) {
      for (Index j = std::max<Index>(0, i - 2); j <= std::min(kMaskedTokens - 1, i + 2); ++j)
        C(i, j) = kernel(h, j - i + 2);
    }
    return Matrix(F1 * six_steps(row_softmax(Ql * Kl.transpose())) * F3 + e.to_tokens(C));
  });
}

}  // namespace
}  // namespace matapprox
