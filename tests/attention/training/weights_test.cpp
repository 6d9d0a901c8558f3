#include <gtest/gtest.h>

#include <Eigen/SVD>

#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/io/safetensors.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using training::Model;
using training::SavedModel;

SavedModel weights_run(const std::string& mechanism) {
  SavedModel run;
  run.task = "temporal_order";
  run.task_options = {{"length", "12"}};
  run.seed = 4;
  run.model.options.attention = mechanism;
  run.model.options.width = 8;
  run.model.options.heads = 2;
  run.model.options.layers = 2;
  run.model.task = tasks::make_task(run.task, run.task_options, run.seed)->shape();
  const Model<float> model(run.model);
  run.state.parameters = model.parameters().initial_values<float>(run.seed);
  run.state.best = run.state.parameters;
  run.state.optimizer.first.assign(run.state.best.size(), 0);
  run.state.optimizer.second = run.state.optimizer.first;
  run.state.best_error = 0.5;
  run.state.best_loss = 1;
  return run;
}

TEST(Weights, QueriesKeysAndValuesGoFromSimpletronToSoftmax) {
  const SavedModel from = weights_run("simpletron");
  SavedModel to = weights_run("softmax");
  for (float& x : to.state.best) x = 0;
  for (const char* ending : {"/transfer.h5", "/transfer.safetensors"}) {
    const std::string path = test::temporary_dir() + ending;
    if (std::string(ending) == "/transfer.h5") {
      training::save_model(path, from);
    } else {
      training::save_weights(path, from);
    }
    std::vector<float> values = to.state.best;
    const Model<float> model(to.model);
    const auto names = training::transfer_weights(path, model.parameters(), values);
    EXPECT_NE(std::find(names.begin(), names.end(), "block1.attention.query.weight"), names.end());
    const Model<float> source(from.model);
    const auto& p = source.parameters().find("block1.attention.key.weight");
    const auto& q = model.parameters().find("block1.attention.key.weight");
    for (Index i = 0; i < p.size(); ++i) {
      EXPECT_EQ(values[static_cast<std::size_t>(q.offset + i)],
                from.state.best[static_cast<std::size_t>(p.offset + i)]);
    }
  }
}

TEST(Weights, NothingThatFitsIsAnError) {
  const std::string path = test::temporary_dir() + "/other.safetensors";
  const std::vector<NamedTensor> other{{"other", {1, 1}, std::vector<float>{1}}};
  write_safetensors(path, other);
  std::vector<float> values = weights_run("softmax").state.best;
  const Model<float> model(weights_run("softmax").model);
  EXPECT_THROW(training::transfer_weights(path, model.parameters(), values), InvalidArgument);
}

/// Log E is the scores of rank r plus softmax's row constants, so its rank is at most r + 1.
TEST(Weights, TruncatedScoresHaveTheirRankAndAllOfThemChangeNothing) {
  const SavedModel run = weights_run("softmax");
  const auto task = tasks::make_task(run.task, run.task_options, run.seed);
  tasks::Sample sample;
  task->make(tasks::Split::kTest, 0, sample);
  const auto map = [&](const std::vector<float>& values) {
    const training::AttentionOnSample on_sample(run.model, values, sample);
    return on_sample.matrix(0, 1)->columns_at(index_range(0, on_sample.length()));
  };
  const Matrix full = map(run.state.best);
  std::vector<float> same = run.state.best;
  training::truncate_scores(run.model, 4, same);
  EXPECT_LT((map(same) - full).norm(), 1e-5 * full.norm());
  std::vector<float> truncated = run.state.best;
  training::truncate_scores(run.model, 1, truncated);
  const Matrix E = map(truncated);
  EXPECT_GT((E - full).norm(), 1e-3 * full.norm());
  const Eigen::JacobiSVD<Matrix> svd(E.array().log().matrix());
  EXPECT_GT(svd.singularValues()(1), 1e-3 * svd.singularValues()(0));
  EXPECT_LT(svd.singularValues()(2), 1e-6 * svd.singularValues()(0));
  EXPECT_THROW(training::truncate_scores(run.model, 5, truncated), InvalidArgument);
  EXPECT_THROW(training::truncate_scores(weights_run("mean").model, 1, truncated), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
