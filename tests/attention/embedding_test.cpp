#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/layers/layers.hpp"
#include "support/attention.hpp"

// The first layer of a model, tokens or features plus positions, against its formula.

namespace matapprox {
namespace {

using attention::Embedding;
using attention::EmbeddingOptions;
using attention::Positions;
using attention::TokenMatrix;

constexpr Index kEmbeddingLength = 50;
constexpr Index kVocabulary = 5;
constexpr Index kFeatures = 3;

/// An embedding of token ids or of features, with its initial parameters.
struct EmbeddingExample {
  EmbeddingExample(Index a_width, bool tokens, const EmbeddingOptions& options)
      : embedding(list,
                  "e",
                  a_width,
                  kEmbeddingLength,
                  tokens ? kVocabulary : 0,
                  tokens ? 0 : kFeatures,
                  options),
        parameters(list.initial_values<double>(1)),
        width(a_width) {}

  Matrix forward(const attention::Sequence& sequence, attention::Mask mask) {
    attention::LayerContext<double> context;
    context.parameters = parameters.data();
    context.mask = mask;
    context.workspace = &workspace;
    TokenMatrix<double> X(embedding.check(sequence, mask), width);
    embedding.forward(context, sequence, X);
    return X;
  }
  Matrix parameter(const std::string& name) const {
    const attention::Parameter& p = list.find(name);
    return attention::ConstTokenMap<double>(parameters.data() + p.offset, p.rows, p.cols);
  }

  attention::ParameterList list;
  Embedding<double> embedding;
  std::vector<double> parameters;
  Index width;
  attention::Workspace<double> workspace;
};

std::vector<std::int32_t> token_ids(Index n) {
  std::vector<std::int32_t> ids;
  for (Index i = 0; i < n; ++i) ids.push_back(static_cast<std::int32_t>(i * i % kVocabulary));
  return ids;
}

/// Rows of the table of token vectors.
Matrix token_rows(const EmbeddingExample& e, const std::vector<std::int32_t>& ids) {
  const Matrix table = e.parameter("e.token");
  Matrix X(static_cast<Index>(ids.size()), table.cols());
  for (Index i = 0; i < X.rows(); ++i) X.row(i) = table.row(ids[static_cast<std::size_t>(i)]);
  return X;
}

/// PE(i, 2j) = sin(i / 10000^(2j/d)), PE(i, 2j + 1) = cos(i / 10000^(2j/d)). [VSP+17, Sec. 3.5]
Matrix sines_and_cosines(Index n, Index d) {
  Matrix PE(n, d);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; 2 * j < d; ++j) {
      const double angle = static_cast<double>(i) /
                           std::pow(10000.0, 2 * static_cast<double>(j) / static_cast<double>(d));
      PE(i, 2 * j) = std::sin(angle);
      if (2 * j + 1 < d) PE(i, 2 * j + 1) = std::cos(angle);
    }
  }
  return PE;
}

void expect_same_entries(const Matrix& actual, const Matrix& expected) {
  EXPECT_LT((actual - expected).cwiseAbs().maxCoeff(), 1e-13);
}

/// Even and odd widths, the longest sequence and a shorter one, and the scale of Singularformer.
TEST(SinusoidalPositions, AreAddedToTheTokens) {
  for (const Index width : {8, 7}) {
    for (const Index n : {kEmbeddingLength, Index{11}}) {
      for (const double scale : {1.0, 1.0 / 3}) {
        EmbeddingExample e(
            width, true, {.positions = Positions::kSinusoidal, .position_scale = scale});
        const std::vector<std::int32_t> ids = token_ids(n);
        expect_same_entries(e.forward({.tokens = ids, .features = {}}, {}),
                            token_rows(e, ids) + scale * sines_and_cosines(n, width));
      }
    }
  }
}

TEST(SinusoidalPositions, AreAddedToTheFeatures) {
  constexpr Index n = 11;
  EmbeddingExample e(8, false, {.positions = Positions::kSinusoidal, .position_scale = 1.0 / 3});
  std::vector<float> features;
  Matrix Z(n, kFeatures);
  for (Index i = 0; i < Z.size(); ++i) {
    features.push_back(0.25F * static_cast<float>(i % 7));
    Z(i / kFeatures, i % kFeatures) = static_cast<double>(features.back());
  }
  const Matrix linear =
      (Z * e.parameter("e.feature.weight")).rowwise() + e.parameter("e.feature.bias").row(0);
  expect_same_entries(e.forward({.tokens = {}, .features = features}, {}),
                      linear + sines_and_cosines(n, 8) / 3);
}

TEST(LearnedPositions, AreTheFirstRowsOfTheirTable) {
  EmbeddingExample e(8, true, {.positions = Positions::kLearned});
  const std::vector<std::int32_t> ids = token_ids(11);
  ASSERT_EQ(e.parameter("e.position").rows(), kEmbeddingLength);
  expect_same_entries(e.forward({.tokens = ids, .features = {}}, {}),
                      token_rows(e, ids) + e.parameter("e.position").topRows(11));
}

TEST(WithoutPositions, TheTokensAreTheirVectors) {
  EmbeddingExample e(8, true, {});
  const std::vector<std::int32_t> ids = token_ids(11);
  expect_same_entries(e.forward({.tokens = ids, .features = {}}, {}), token_rows(e, ids));
}

/// The vector of the CLS token comes first, at position 0; the tokens after it start at position 1.
TEST(ClsToken, IsARowInFrontOfTheTokensAndOfTheirPositions) {
  for (const Positions positions : {Positions::kNone, Positions::kLearned}) {
    EmbeddingExample e(8, true, {.positions = positions, .cls_token = true});
    const std::vector<std::int32_t> ids = token_ids(11);
    Matrix expected(12, 8);
    expected << e.parameter("e.cls"), token_rows(e, ids);
    if (positions == Positions::kLearned) {
      ASSERT_EQ(e.parameter("e.position").rows(), kEmbeddingLength + 1);
      expected += e.parameter("e.position").topRows(12);
    }
    expect_same_entries(e.forward({.tokens = ids, .features = {}}, {}), expected);
  }
}

/// Ids 0 1 4 4 1 0 1 4 ..: a separator belongs to the segment that it ends, and tokens after the
/// end of the last segment belong to that segment.
TEST(Segments, AreCountedByTheirSeparator) {
  const std::vector<std::int32_t> ids = token_ids(9);
  for (const bool cls : {false, true}) {
    for (const auto& [separator, segment_of] :
         {std::pair<Index, std::vector<Index>>{-1, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
          {1, {0, 0, 1, 1, 1, 2, 2, 2, 2}},
          {3, {0, 0, 0, 0, 0, 0, 0, 0, 0}}}) {
      EmbeddingExample e(
          8, true, {.cls_token = cls, .segments = 3, .segment_separator = separator});
      const Matrix segments = e.parameter("e.segment");
      Matrix X = token_rows(e, ids);
      for (Index i = 0; i < 9; ++i)
        X.row(i) += segments.row(segment_of[static_cast<std::size_t>(i)]);
      Matrix expected(cls ? 10 : 9, 8);
      expected.bottomRows(9) = X;
      if (cls) expected.row(0) = e.parameter("e.cls") + segments.row(0);
      expect_same_entries(e.forward({.tokens = ids, .features = {}}, {}), expected);
    }
  }
}

/// Padding is 0 and counts as a position: the tokens after it keep their positions.
TEST(SinusoidalPositions, CountRowsOfPaddingWhichAreZero) {
  EmbeddingExample e(8, true, {.positions = Positions::kSinusoidal});
  const std::vector<std::int32_t> ids = token_ids(11);
  std::vector<std::uint8_t> mask(11, 1);
  mask[0] = mask[4] = mask[10] = 0;
  Matrix expected = token_rows(e, ids) + sines_and_cosines(11, 8);
  for (const Index i : {0, 4, 10}) expected.row(i).setZero();
  expect_same_entries(e.forward({.tokens = ids, .features = {}}, mask), expected);
}

}  // namespace
}  // namespace matapprox
