#include "simpletron_rows.hpp"

#include <fmt/format.h>

#include "run_flags.hpp"

namespace matapprox::app {
namespace {

NamedOptions task_options(const SimpletronSetting& setting) {
  constexpr Index kGeneratedLength = 64;
  const bool generated = setting.data.empty();
  const Index length = generated && setting.length == 0 ? kGeneratedLength : setting.length;
  NamedOptions options;
  if (!generated) options.emplace_back("path", setting.data);
  if (length > 0) options.emplace_back("length", fmt::format("{}", length));
  return options;
}

}  // namespace

NamedOptions simpletron_options(const SimpletronSetting& setting,
                                const std::string& mechanism,
                                Index layers) {
  return {{"attention", mechanism},
          {"block", "post_norm"},
          {"width", fmt::format("{}", setting.width)},
          {"heads", fmt::format("{}", setting.heads)},
          {"layers", fmt::format("{}", layers)},
          {"feed_forward", "2"},
          {"positions", "sinusoidal"},
          {"position_scale", "0.3"},
          {"embedding_init_std", "0.2"},
          {"pool", "max_mean"},
          {"batch", "40"},
          {"steps", fmt::format("{}", setting.steps)},
          {"learning_rate", "0.001"},
          {"schedule", "cosine"},
          {"warmup", "200"},
          {"output_projection", "true"}};
}

ExperimentRow simpletron_row(const SimpletronSetting& setting,
                             const std::string& model,
                             const NamedOptions& options,
                             std::uint64_t seed) {
  ExperimentRow row{
      setting.data.empty() ? "negation" : "token_file", model, "max_mean", 0, seed, {}};
  row.described = described_run(row.task, task_options(setting), options, seed);
  row.length = row.described.model.task.length;
  return row;
}

std::string baselines_of_texts(const std::vector<FinishedRow>& rows) {
  std::string text;
  for (const tasks::Baseline& baseline : rows.front().baselines)
    text += fmt::format("without attention: {} {:.2f} %\n", baseline.name, 100 * baseline.error);
  return text;
}

}  // namespace matapprox::app
