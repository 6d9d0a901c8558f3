#include "matapprox/attention/training/attention_on_sample.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/dense.hpp"
#include "support/attention.hpp"
#include "support/expect_close.hpp"

namespace matapprox {
namespace {

using training::AttentionOnSample;
using training::Model;
using training::ModelDescription;

constexpr Index kMapLength = 13;

ModelDescription map_model(const std::string& mechanism, attention::BlockKind block) {
  ModelDescription d;
  d.options.attention = mechanism;
  d.options.width = 8;
  d.options.heads = mechanism == "psf" ? 1 : 2;
  d.options.layers = 2;
  d.options.block.kind = block;
  d.task.length = kMapLength;
  d.task.vocabulary = 7;
  d.task.answer = tasks::Answer::kClass;
  d.task.classes = 3;
  return d;
}

tasks::Sample map_sample() {
  tasks::Sample sample;
  for (Index i = 0; i < kMapLength; ++i) {
    sample.tokens.push_back(
        static_cast<std::int32_t>(random_index(2, RandomStream::kGenerator, i, 0, 7)));
  }
  sample.mask.assign(kMapLength, 1);
  sample.mask[3] = sample.mask[12] = 0;
  return sample;
}

/// softmax(Q K^T / sqrt(p)) of the first layer, computed from the parameters and the embedded
/// tokens.
Matrix dense_softmax_map(const ModelDescription& d,
                         const std::vector<float>& values,
                         const tasks::Sample& sample,
                         Index head) {
  const Model<float> model(d);
  const auto parameter = [&](const std::string& name) {
    const attention::Parameter& p = model.parameters().find(name);
    Matrix M(p.rows, p.cols);
    for (Index i = 0; i < p.rows; ++i) {
      for (Index j = 0; j < p.cols; ++j)
        M(i, j) = values[static_cast<std::size_t>(p.offset + i * p.cols + j)];
    }
    return M;
  };
  const Matrix table = parameter("embedding.token");
  Matrix X(kMapLength, 8);
  for (Index i = 0; i < kMapLength; ++i)
    X.row(i) = table.row(sample.tokens[static_cast<std::size_t>(i)]);
  for (const Index i : {3, 12}) X.row(i).setZero();
  const auto projected = [&](const std::string& name) -> Matrix {
    const Matrix all = (X * parameter("block0.attention." + name + ".weight")).rowwise() +
                       parameter("block0.attention." + name + ".bias").row(0);
    return all.middleCols(4 * head, 4);
  };
  Matrix S = projected("query") * projected("key").transpose() / 2;
  S.col(3).setConstant(-1e300);
  S.col(12).setConstant(-1e300);
  return test::row_softmax(S);
}

TEST(AttentionOnSample, SoftmaxIsItsFormula) {
  const ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  const AttentionOnSample on_sample(d, values, map_sample());
  ASSERT_EQ(on_sample.heads(), 2);
  ASSERT_EQ(on_sample.layers(), 2);
  for (const Index head : {0, 1}) {
    const Matrix E = on_sample.matrix(0, head)->columns_at(index_range(0, kMapLength));
    EXPECT_LT((E - dense_softmax_map(d, values, map_sample(), head)).norm(), 1e-12);
  }
}

TEST(AttentionOnSample, MeansOfRowsAreThoseOfTheDenseMatrix) {
  for (const char* mechanism : {"softmax", "psf"}) {
    const ModelDescription d = map_model(mechanism, attention::BlockKind::kPostNorm);
    const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
    const AttentionOnSample on_sample(d, values, map_sample());
    const Matrix dense = mechanism == std::string("softmax")
                             ? dense_softmax_map(d, values, map_sample(), 0)
                             : Matrix(on_sample.matrix(0, 0)->columns_at(index_range(0, 13)));
    const Vector mean = training::mean_attention(*on_sample.matrix(0, 0), {1, 5, 5, 12});
    const Vector expected = (dense.row(1) + 2 * dense.row(5) + dense.row(12)).transpose() / 4;
    EXPECT_LT((mean - expected).norm(), 1e-12 * expected.norm()) << mechanism;
    const Vector to = training::mean_attention_to(*on_sample.matrix(0, 0), {1, 5, 5, 12});
    const Vector expected_to = (dense.col(1) + 2 * dense.col(5) + dense.col(12)) / 4;
    EXPECT_LT((to - expected_to).norm(), 1e-12 * expected_to.norm()) << mechanism;
  }
  const DenseOperator A(Matrix::Identity(3, 3));
  EXPECT_THROW(training::mean_attention(A, {}), InvalidArgument);
  EXPECT_THROW(training::mean_attention(A, {3}), InvalidArgument);
  EXPECT_THROW(training::mean_attention(A, {-1}), InvalidArgument);
  EXPECT_THROW(training::mean_attention_to(A, {}), InvalidArgument);
  EXPECT_THROW(training::mean_attention_to(A, {3}), InvalidArgument);
}

TEST(AttentionOnSample, PixelsAroundOthersAreADiscWithinTheImage) {
  // 0 1 2 3
  // 4 5 6 7
  // 8 9 10 11
  const auto around = [](std::vector<Index> pixels, double radius) {
    return training::pixels_around(pixels, 12, 4, radius);
  };
  EXPECT_EQ(around({5}, 0), (std::vector<Index>{5}));
  EXPECT_EQ(around({5}, 1), (std::vector<Index>{1, 4, 5, 6, 9}));
  EXPECT_EQ(around({5}, 1.5), (std::vector<Index>{0, 1, 2, 4, 5, 6, 8, 9, 10}));
  EXPECT_EQ(around({7}, 1), (std::vector<Index>{3, 6, 7, 11}));
  EXPECT_EQ(around({0, 1}, 1), (std::vector<Index>{0, 1, 2, 4, 5}));
  EXPECT_THROW(around({12}, 1), InvalidArgument);
  EXPECT_THROW(training::pixels_around({0}, 13, 4, 1), InvalidArgument);
}

/// A learned token in front adds a row and a column, and shifts the padding by one.
TEST(AttentionOnSample, AClsTokenIsTheFirstRowAndColumn) {
  ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  d.options.embedding.cls_token = true;
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  const AttentionOnSample on_sample(d, values, map_sample());
  ASSERT_EQ(on_sample.length(), kMapLength + 1);
  const Matrix E = on_sample.matrix(0, 1)->columns_at(index_range(0, kMapLength + 1));
  EXPECT_LT((E.rowwise().sum().array() - 1).abs().maxCoeff(), 1e-13);
  for (Index j = 0; j <= kMapLength; ++j) EXPECT_EQ(E.col(j).isZero(0), j == 4 || j == 13) << j;
}

/// A model of pairs has one matrix per text, and so none for the sample.
TEST(AttentionOnSample, PairsOfTextsAreRefused) {
  ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  d.options.pair_separator = map_sample().tokens[5];
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  try {
    const AttentionOnSample on_sample(d, values, map_sample());
    FAIL();
  } catch (const InvalidArgument& refusal) {
    EXPECT_NE(std::string(refusal.what()).find("two texts"), std::string::npos);
  }
}

TEST(AttentionOnSample, RowsColumnsAndMethodsSeeOneMatrix) {
  for (const char* mechanism : {"softmax", "psf", "linformer", "singularformer"}) {
    for (const auto block : {attention::BlockKind::kPostNorm, attention::BlockKind::kPreNorm}) {
      const ModelDescription d = map_model(mechanism, block);
      const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
      const AttentionOnSample on_sample(d, values, map_sample());
      const auto E = on_sample.matrix(1, on_sample.heads() - 1);
      const Matrix dense = E->columns_at(index_range(0, kMapLength));
      const Matrix rows = E->rows_at(index_range(0, kMapLength));
      EXPECT_LT((rows.transpose() - dense).norm(), 1e-12 * dense.norm()) << mechanism;
      const Approximation full = truncated_svd(*E, {.rank = kMapLength});
      const Matrix again = full.columns_at(index_range(0, kMapLength));
      EXPECT_LT((again - dense).norm(), 1e-10 * dense.norm()) << mechanism;
      EXPECT_EQ(dense.col(3).norm(), 0) << mechanism;
    }
  }
}

/// Realformer: the scores of the second layer include those of the first.
TEST(AttentionOnSample, ResidualScoresAreInTheMapsOfLayersAbove) {
  ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  const std::vector<Index> all = index_range(0, kMapLength);
  const AttentionOnSample apart(d, values, map_sample());
  d.attention_options = {{"residual_scores", "true"}};
  const AttentionOnSample residual_scores(d, values, map_sample());
  EXPECT_LT(
      (apart.matrix(0, 0)->columns_at(all) - residual_scores.matrix(0, 0)->columns_at(all)).norm(),
      1e-13);
  // E_2 is the row-wise softmax of log E_1 + log E_own: constants of the rows cancel.
  const Matrix own = apart.matrix(1, 0)->columns_at(all);
  const Matrix first = apart.matrix(0, 0)->columns_at(all);
  Matrix product = own.cwiseProduct(first);
  for (Index i = 0; i < kMapLength; ++i) product.row(i) /= product.row(i).sum();
  EXPECT_LT((residual_scores.matrix(1, 0)->columns_at(all) - product).norm(), 1e-12);
}

TEST(AttentionOnSample, SummaryIsTheMeanOfTheLargest) {
  const ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  const AttentionOnSample on_sample(d, values, map_sample());
  const std::vector<Index> all = index_range(0, kMapLength);
  const Matrix S = on_sample.summary();
  for (const auto& [i, j] : {std::pair<Index, Index>{0, 0}, {5, 7}, {12, 1}}) {
    double mean = 0;
    for (Index l = 0; l < 2; ++l) {
      mean += std::max(on_sample.matrix(l, 0)->columns_at(all)(i, j),
                       on_sample.matrix(l, 1)->columns_at(all)(i, j)) /
              2;
    }
    EXPECT_NEAR(S(i, j), mean, 1e-14);
  }
}

TEST(AttentionCorrelation, ByHand) {
  Matrix A(3, 3);
  Matrix B(3, 3);
  A << 1, 2, 3, 1, 2, 3, 5, 5, 5;
  B << 10, 20, 30, 3, 2, 1, 1, 2, 3;
  EXPECT_NEAR(training::attention_correlation(A, B),
              0,
              test::rounding(12));  // 1 and -1; the third row is constant
  B.row(1) << 1, 3, 2;              // correlation 1/2
  EXPECT_NEAR(training::attention_correlation(A, B), 0.75, test::rounding(12));
  EXPECT_THROW(training::attention_correlation(A, Matrix::Zero(2, 3)), InvalidArgument);
  EXPECT_THROW(training::attention_correlation(A, Matrix::Ones(3, 3)), InvalidArgument);
}

TEST(AttentionOnSample, RefusesWhatIsNotThere) {
  const ModelDescription d = map_model("softmax", attention::BlockKind::kPostNorm);
  const std::vector<float> values = Model<float>(d).parameters().initial_values<float>(1);
  const AttentionOnSample on_sample(d, values, map_sample());
  EXPECT_THROW(on_sample.matrix(2, 0), InvalidArgument);
  EXPECT_THROW(on_sample.matrix(0, 2), InvalidArgument);
  EXPECT_THROW(AttentionOnSample(d, std::vector<float>(3), map_sample()), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
