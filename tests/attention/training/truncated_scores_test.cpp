// truncate_scores compared with Eigen's singular value decomposition of the scores that it
// truncates.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "support/attention.hpp"
#include "support/paths.hpp"
#include "support/program_run.hpp"

namespace matapprox {
namespace {

using attention::Parameter;
using training::Model;
using training::SavedModel;

constexpr Index kWidth = 8;
constexpr Index kHeadWidth = 4;

/// Two layers with two heads; queries and keys are large, so that their scores matter.
SavedModel sharp_model(const std::string& mechanism, const NamedOptions& options = {}) {
  SavedModel saved;
  saved.task = "temporal_order";
  saved.task_options = {{"length", "12"}};
  saved.seed = 4;
  saved.model.options.attention = mechanism;
  saved.model.options.width = kWidth;
  saved.model.options.heads = kWidth / kHeadWidth;
  saved.model.options.layers = 2;
  saved.model.attention_options = options;
  saved.model.task = tasks::make_task(saved.task, saved.task_options, saved.seed)->shape();
  const Model<float> model(saved.model);
  std::vector<float> values = model.parameters().initial_values<float>(saved.seed);
  for (const Parameter& p : model.parameters().parameters()) {
    const bool query = p.name.find("query") != std::string::npos;
    if (!query && p.name.find("key") == std::string::npos) continue;
    for (Index i = 0; i < p.size(); ++i) {
      float& x = values[static_cast<std::size_t>(p.offset + i)];
      // The initial biases are 0 and would have no effect.
      x = p.rows == 1 ? 0.1F * static_cast<float>(i - 3) : 5 * x;
    }
  }
  saved.state.parameters = saved.state.best = values;
  saved.state.optimizer.first.assign(values.size(), 0);
  saved.state.optimizer.second = saved.state.optimizer.first;
  return saved;
}

std::vector<float> truncated(const SavedModel& saved, Index rank) {
  std::vector<float> values = saved.state.best;
  training::truncate_scores(saved.model, rank, values);
  return values;
}

Matrix parameter(const SavedModel& saved,
                 const std::vector<float>& values,
                 const std::string& name) {
  const Model<float> model(saved.model);
  const Parameter& p = model.parameters().find(name);
  return attention::TokenMatrix<float>(Eigen::Map<const attention::TokenMatrix<float>>(
                                           values.data() + p.offset, p.rows, p.cols))
      .cast<double>();
}

/// Weight and bias of a head's queries or keys, stacked to (d + 1) x p.
Matrix projection(const SavedModel& saved,
                  const std::vector<float>& values,
                  Index layer,
                  const std::string& which,
                  Index head) {
  const std::string name = fmt::format("block{}.attention.{}", layer, which);
  Matrix both(kWidth + 1, kHeadWidth);
  both << parameter(saved, values, name + ".weight").middleCols(head * kHeadWidth, kHeadWidth),
      parameter(saved, values, name + ".bias").middleCols(head * kHeadWidth, kHeadWidth);
  return both;
}

/// A B^T: the scores of two tokens x, y are [x 1] A B^T [y 1]^T.
Matrix score_map(const SavedModel& saved,
                 const std::vector<float>& values,
                 Index layer,
                 Index head) {
  return projection(saved, values, layer, "query", head) *
         projection(saved, values, layer, "key", head).transpose();
}

/// The nearest matrix of the given rank, and its distance.
struct Nearest {
  Nearest(const Matrix& M, Index rank) {
    const Eigen::JacobiSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
    matrix = svd.matrixU().leftCols(rank) * svd.singularValues().head(rank).asDiagonal() *
             svd.matrixV().leftCols(rank).transpose();
    distance = svd.singularValues().tail(M.rows() - rank).norm();
  }
  Matrix matrix;
  double distance = 0;
};

Index rank_of(const Matrix& M) {
  const Eigen::JacobiSVD<Matrix> svd(M);
  return (svd.singularValues().array() > 1e-6 * svd.singularValues()(0)).count();
}

TEST(TruncatedScores, AreTheNearestOfTheirRankInEveryLayerAndHead) {
  const SavedModel saved = sharp_model("softmax");
  for (Index rank = 1; rank <= kHeadWidth; ++rank) {
    const std::vector<float> values = truncated(saved, rank);
    for (const auto& [layer, head] : {std::pair<Index, Index>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
      const Matrix before = score_map(saved, saved.state.best, layer, head);
      const Matrix after = score_map(saved, values, layer, head);
      const Nearest nearest(before, rank);
      EXPECT_LT((after - nearest.matrix).norm(), 1e-6 * before.norm()) << rank;
      EXPECT_NEAR((after - before).norm(), nearest.distance, 1e-6 * before.norm()) << rank;
      EXPECT_EQ(rank_of(after), rank);
    }
  }
}

/// All parameters except queries and keys are unchanged, bit for bit.
TEST(TruncatedScores, LeaveTheOtherParametersAlone) {
  const SavedModel saved = sharp_model("softmax");
  const std::vector<float> values = truncated(saved, 1);
  const Model<float> model(saved.model);
  for (const Parameter& p : model.parameters().parameters()) {
    const bool scores =
        p.name.find("query") != std::string::npos || p.name.find("key") != std::string::npos;
    const bool same = std::equal(values.begin() + p.offset,
                                 values.begin() + p.offset + p.size(),
                                 saved.state.best.begin() + p.offset);
    EXPECT_EQ(same, !scores) << p.name;
  }
}

/// The tokens of test sample 0 as input of the first layer, each with an additional 1.
Matrix first_layer_input(const SavedModel& saved, const tasks::Sample& sample) {
  const Matrix table = parameter(saved, saved.state.best, "embedding.token");
  Matrix X(static_cast<Index>(sample.tokens.size()), kWidth + 1);
  for (Index i = 0; i < X.rows(); ++i)
    X.row(i) << table.row(sample.tokens[static_cast<std::size_t>(i)]), 1;
  return X;
}

/// The effective attention of a head of the first layer after truncation, and its expected value.
std::pair<Matrix, Matrix> maps(const SavedModel& saved, Index rank, Index head) {
  tasks::Sample sample;
  tasks::make_task(saved.task, saved.task_options, saved.seed)
      ->make(tasks::Split::kTest, 0, sample);
  const training::AttentionOnSample seen(saved.model, truncated(saved, rank), sample);
  const Matrix X = first_layer_input(saved, sample);
  const Nearest nearest(score_map(saved, saved.state.best, 0, head), rank);
  return {seen.matrix(0, head)->columns_at(index_range(0, seen.length())),
          X * nearest.matrix * X.transpose()};
}

TEST(TruncatedScores, MakeTheSoftmaxOfTheNearestScores) {
  const SavedModel saved = sharp_model("softmax");
  for (const Index rank : {0, 1, 2, 3, 4}) {
    for (const Index head : {0, 1}) {
      const auto [E, scores] = maps(saved, rank, head);
      const Matrix expected = test::row_softmax(scores / std::sqrt(double{kHeadWidth}));
      EXPECT_LT((E - expected).norm(), 1e-5 * expected.norm()) << rank;
    }
  }
}

/// Without a softmax the effective attention itself has the given rank.
TEST(TruncatedScores, GiveSimpletronAMapOfTheirRank) {
  const SavedModel saved = sharp_model("simpletron", {{"scale", "none"}});
  for (const Index rank : {1, 2}) {
    const auto [E, expected] = maps(saved, rank, 1);
    EXPECT_LT((E - expected).norm(), 1e-5 * expected.norm());
    EXPECT_EQ(rank_of(E), rank);
  }
}

/// A model whose queries and keys are U S and V of the nearest scores, computed by the test.
SavedModel truncated_by_hand(const SavedModel& saved, Index rank) {
  SavedModel made = saved;
  const Model<float> model(saved.model);
  const auto put = [&](const std::string& name, Index first, const Matrix& values) {
    const Parameter& p = model.parameters().find(name);
    Eigen::Map<attention::TokenMatrix<float>>(made.state.best.data() + p.offset, p.rows, p.cols)
        .middleCols(first, kHeadWidth) = values.cast<float>();
  };
  const auto put_both = [&](const std::string& name, Index head, const Matrix& both) {
    put(name + ".weight", head * kHeadWidth, both.topRows(kWidth));
    put(name + ".bias", head * kHeadWidth, both.bottomRows(1));
  };
  for (const auto& [layer, head] : {std::pair<Index, Index>{0, 0}, {0, 1}, {1, 0}, {1, 1}}) {
    const Matrix M = score_map(saved, saved.state.best, layer, head);
    const Eigen::JacobiSVD<Matrix> svd(M, Eigen::ComputeThinU | Eigen::ComputeThinV);
    Vector kept = svd.singularValues().head(kHeadWidth);
    kept.tail(kHeadWidth - rank).setZero();
    const std::string prefix = fmt::format("block{}.attention.", layer);
    put_both(prefix + "query", head, svd.matrixU().leftCols(kHeadWidth) * kept.asDiagonal());
    put_both(prefix + "key", head, svd.matrixV().leftCols(kHeadWidth));
  }
  return made;
}

double loss_of(const SavedModel& saved, const std::vector<std::string>& more = {}) {
  const std::string path = test::temporary_dir() + "/model.h5";
  training::save_model(path, saved);
  std::vector<std::string> words{"attention", "evaluate", path, "--samples", "300", "--json", "-"};
  words.insert(words.end(), more.begin(), more.end());
  return test::run_program(words).json()["result"]["loss"].get<double>();
}

TEST(TruncatedScores, AreWhatEvaluateMeasuresWithTruncateRank) {
  const SavedModel saved = sharp_model("softmax");
  const double whole = loss_of(saved);
  for (const Index rank : {0, 1, 2}) {
    const double by_hand = loss_of(truncated_by_hand(saved, rank));
    EXPECT_NEAR(loss_of(saved, {"--truncate-rank", std::to_string(rank)}), by_hand, 1e-5 * whole);
    EXPECT_GT(std::abs(by_hand - whole), 5e-4 * whole) << rank;
  }
  EXPECT_NEAR(loss_of(saved, {"--truncate-rank", "4"}), whole, 1e-5 * whole);
}

}  // namespace
}  // namespace matapprox
