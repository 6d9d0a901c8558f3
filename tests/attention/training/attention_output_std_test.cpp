#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/attention/training/trainer.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/types.hpp"
#include "support/paths.hpp"

namespace matapprox {
namespace {

using training::Model;
using training::SavedModel;

/// Two layers of softmax attention alone, two heads each, on trees of 6 to 24 tokens.
SavedModel two_layers() {
  SavedModel run;
  run.task = "listops";
  run.task_options = {{"length", "24"}, {"min_length", "6"}, {"max_depth", "3"}};
  run.seed = 5;
  run.model.options.attention = "softmax";
  run.model.options.width = 8;
  run.model.options.heads = 2;
  run.model.options.layers = 2;
  run.model.options.block.kind = attention::BlockKind::kBare;
  run.model.attention_options = {{"output_projection", "false"}};
  run.model.task = tasks::make_task(run.task, run.task_options, run.seed)->shape();
  return run;
}

/// X W + b.
Matrix linear(const Model<float>& model,
              const std::vector<float>& parameters,
              const std::string& name,
              const Matrix& X) {
  const auto values = [&](const std::string& part) -> Matrix {
    const attention::Parameter& p = model.parameters().find(name + part);
    using RowMajor = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
    return Eigen::Map<const RowMajor>(parameters.data() + p.offset, p.rows, p.cols).cast<double>();
  };
  return (X * values(".weight")).rowwise() + values(".bias").row(0);
}

/// Uses the effective matrices E of the heads: a layer's output is [E0 V0, E1 V1].
TEST(AttentionOutputStd, AreTheDeviationsOfWhatEachLayerGives) {
  const SavedModel run = two_layers();
  const Model<float> model(run.model);
  const auto task = tasks::make_task(run.task, run.task_options, run.seed);
  const std::vector<float> parameters = model.parameters().initial_values<float>(7);
  constexpr Index kSamples = 6;
  std::vector<std::vector<double>> given(2);
  bool padded = false;
  for (Index i = 0; i < kSamples; ++i) {
    tasks::Sample sample;
    task->make(tasks::Split::kValidation, i, sample);
    const training::AttentionOnSample on_sample(run.model, parameters, sample);
    const auto n = static_cast<Index>(sample.tokens.size());
    const attention::Parameter& token = model.parameters().find("embedding.token");
    Matrix X(n, 8);
    for (Index t = 0; t < n; ++t) {
      for (Index j = 0; j < 8; ++j) {
        const Index at = token.offset + sample.tokens[static_cast<std::size_t>(t)] * 8 + j;
        X(t, j) = parameters[static_cast<std::size_t>(at)];
      }
    }
    for (Index l = 0; l < 2; ++l) {
      const std::string name = "block" + std::to_string(l) + ".attention.value";
      const Matrix V = linear(model, parameters, name, X);
      for (Index h = 0; h < 2; ++h)
        X.middleCols(4 * h, 4) = on_sample.matrix(l, h)->apply(V.middleCols(4 * h, 4));
      for (Index t = 0; t < n; ++t) {
        if (!sample.mask.empty() && sample.mask[static_cast<std::size_t>(t)] == 0) {
          padded = true;
          continue;
        }
        for (Index j = 0; j < 8; ++j) given[static_cast<std::size_t>(l)].push_back(X(t, j));
      }
    }
  }
  EXPECT_TRUE(padded);
  const std::vector<double> of_layers =
      training::attention_output_std(model, parameters, *task, tasks::Split::kValidation, kSamples);
  ASSERT_EQ(of_layers.size(), 2U);
  for (std::size_t l = 0; l < 2; ++l) {
    const Eigen::Map<const Vector> all(given[l].data(), std::ssize(given[l]));
    const double deviation = std::sqrt((all.array() - all.mean()).square().mean());
    EXPECT_NEAR(of_layers[l], deviation, 1e-5 * deviation) << l;
  }
  EXPECT_GT(std::abs(of_layers[0] - of_layers[1]), 0.01 * of_layers[0]);
}

TEST(AttentionOutputStd, AreKeptAtEachValidationAndInTheFile) {
  SavedModel run = two_layers();
  run.training_options = {{"steps", "6"},
                          {"evaluate_every", "3"},
                          {"batch", "4"},
                          {"evaluation_samples", "5"},
                          {"attention_std_samples", "4"}};
  Model<float> model(run.model);
  const auto task = tasks::make_task(run.task, run.task_options, run.seed);
  const auto options = options_from<training::TrainingOptions>(run.training_options);
  training::Trainer trainer(model, *task, options);
  run.state = trainer.start(run.seed);
  trainer.run(run.state, run.seed, {});
  ASSERT_EQ(run.state.attention_std.size(), 2U);
  EXPECT_EQ(run.state.attention_std.back(),
            training::attention_output_std(
                model, run.state.parameters, *task, tasks::Split::kValidation, 4));
  EXPECT_NE(run.state.attention_std.front(), run.state.attention_std.back());
  const std::string path = test::temporary_dir() + "/attention_std.h5";
  training::save_model(path, run);
  EXPECT_EQ(training::load_model(path).state.attention_std, run.state.attention_std);
  training::TrainingState begun_without = run.state;
  begun_without.attention_std.clear();
  EXPECT_THROW(trainer.run(begun_without, run.seed, {}), InvalidArgument);
  run.state.attention_std.resize(1);  // the history has two entries
  training::save_model(path, run);
  EXPECT_THROW(training::load_model(path), FileError);
  run.model.options.pair_separator = 3;
  Model<float> pairs(run.model);
  EXPECT_THROW(training::Trainer(pairs, *task, options), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
