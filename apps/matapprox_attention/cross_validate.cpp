#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "command_line/shared_options.hpp"
#include "commands.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/visible_text.hpp"
#include "reproduce/matrix_file.hpp"
#include "run_flags.hpp"
#include "run_report.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {
namespace {

struct CrossValidateCommand {
  RunFlags run;
  ExperimentOptions options;
  CommonOptions common;
  DeviceOptions device;
  JsonOptions json;
};

void set_option(NamedOptions& options, std::string_view name, const std::string& value) {
  for (auto& [option, text] : options) {
    if (option == name) text = value;
  }
}

/// Returns one row per fold.
std::vector<ExperimentRow> fold_rows(const training::SavedModel& described) {
  require(described.task == "token_file",
          "attention cross-validate: --task {} has no folds; use token_file",
          described.task);
  const auto task = options_from<tasks::TokenFileOptions>(described.task_options);
  require(task.folds >= 2,
          "attention cross-validate: give --folds, the number of parts, 2 or more");
  std::vector<ExperimentRow> rows;
  for (Index fold = 0; fold < task.folds; ++fold) {
    ExperimentRow row;
    row.task = described.task;
    row.model = described.model.options.attention;
    row.head = enum_name(described.model.options.pool);
    row.length = described.model.task.length;
    row.seed = described.seed;
    row.described = described;
    set_option(row.described.task_options, "fold", std::to_string(fold));
    row.fold = fold;
    rows.push_back(std::move(row));
  }
  return rows;
}

struct MeanAndDeviation {
  double mean = 0;
  double standard_deviation = 0;  ///< spread of the folds; denominator n - 1
};

template <class Value>
MeanAndDeviation over_folds(const std::vector<FinishedRow>& rows, const Value& value) {
  const auto n = static_cast<double>(rows.size());
  MeanAndDeviation result;
  for (const FinishedRow& row : rows) result.mean += value(row) / n;
  for (const FinishedRow& row : rows) {
    const double off = value(row) - result.mean;
    result.standard_deviation += off * off / (n - 1);
  }
  result.standard_deviation = std::sqrt(result.standard_deviation);
  return result;
}

/// Mean and deviation of the k-th baseline of each fold.
MeanAndDeviation baseline_over_folds(const std::vector<FinishedRow>& rows, std::size_t k) {
  return over_folds(rows, [k](const FinishedRow& row) { return row.baselines.at(k).error; });
}

double error_of(const FinishedRow& row) { return row.test.error; }

std::string percent_text(const MeanAndDeviation& value) {
  constexpr double kPercent = 100;
  return fmt::format(
      "{:6.2f} %  \u00b1 {:.2f}", kPercent * value.mean, kPercent * value.standard_deviation);
}

double micro_f1_of(const FinishedRow& row) { return row.test.labels->micro_f1; }
double macro_f1_of(const FinishedRow& row) { return row.test.labels->macro_f1; }
double macro_auc_of(const FinishedRow& row) { return row.test.labels->macro_auc; }

std::string label_folds_text(const std::vector<FinishedRow>& rows) {
  if (!rows.front().test.labels) return {};
  const auto line = [&](const char* name, const auto& value) {
    const MeanAndDeviation over = over_folds(rows, value);
    return fmt::format("  {:8.4f}  \u00b1 {:.4f}  {}\n", over.mean, over.standard_deviation, name);
  };
  return "\n" + line("F1 of all labels together", micro_f1_of) +
         line("mean F1 of a label", macro_f1_of) +
         line("mean area under a label's ROC curve", macro_auc_of);
}

std::string folds_text(const training::SavedModel& described,
                       const std::vector<FinishedRow>& rows) {
  std::string text = model_text(described) + "\n\n";
  text += fmt::format(
      "error on each of {} folds, seed {} (95 % interval)\n", rows.size(), described.seed);
  for (const FinishedRow& row : rows) {
    text += fmt::format("  fold {:<3} {:6.2f} %  ({:.2f} .. {:.2f} %), {} samples\n",
                        row.row.fold,
                        100 * row.test.error,
                        100 * row.test.error_low,
                        100 * row.test.error_high,
                        row.test.samples);
  }
  text += "\nmean error and its standard deviation over the folds\n";
  text += fmt::format(
      "  {}  {}\n", percent_text(over_folds(rows, error_of)), visible_text(rows.front().row.model));
  for (std::size_t k = 0; k < rows.front().baselines.size(); ++k) {
    text += fmt::format("  {}  {}\n",
                        percent_text(baseline_over_folds(rows, k)),
                        visible_text(rows.front().baselines[k].name));
  }
  return text + label_folds_text(rows);
}

report::Json folds_json(const training::SavedModel& described,
                        const std::vector<FinishedRow>& rows,
                        bool interrupted) {
  report::Json json = report::document_head(described.seed, threads());
  add_settings(json, described);
  json["rows"] = report::Json::array();
  for (const FinishedRow& row : rows) json["rows"].push_back(to_json(row));
  if (interrupted) return json;
  const auto value_json = [](const MeanAndDeviation& value) {
    return report::Json{{"mean", value.mean}, {"standard_deviation", value.standard_deviation}};
  };
  json["error"] = value_json(over_folds(rows, error_of));
  if (rows.front().test.labels) {
    json["micro_f1"] = value_json(over_folds(rows, micro_f1_of));
    json["macro_f1"] = value_json(over_folds(rows, macro_f1_of));
    json["macro_auc"] = value_json(over_folds(rows, macro_auc_of));
  }
  json["baselines"] = report::Json::array();
  for (std::size_t k = 0; k < rows.front().baselines.size(); ++k) {
    report::Json baseline = value_json(baseline_over_folds(rows, k));
    baseline["name"] = rows.front().baselines[k].name;
    json["baselines"].push_back(baseline);
  }
  return json;
}

int run_cross_validate(CrossValidateCommand& command) {
  command.run.read_config();
  command.common.apply();
  command.device.check();
  FilePlan files = command.json.files();
  files.reads(command.run.config()).makes_folder("-o", command.options.folder);
  const training::SavedModel described = command.run.described(command.common.seed());
  files.reads(data_path(described));
  const std::vector<ExperimentRow> rows = fold_rows(described);
  command.options.data_sha256 = reproduction::file_sha256(data_path(described));
  // No fold has more rows than fold 0.
  command.options.test_samples =
      task_of(rows.front().described, described.seed)->size(tasks::Split::kTest);
  prepare_folder(command.options.folder);
  const bool quiet = command.common.quiet();
  const RowWords words{"folds",
                       [](const ExperimentRow& row) { return fmt::format("fold {}", row.fold); }};
  const ExperimentResult result = train_rows(rows, command.options, command.device, quiet, words);
  command.json.write(folds_json(described, result.rows, result.interrupted));
  if (result.interrupted) {
    return report_interrupt(
        quiet, result.rows.size(), rows.size(), words.rows, command.options.folder);
  }
  if (!command.json.replaces_text()) write_stdout(folds_text(described, result.rows));
  return kDone;
}

}  // namespace

void add_attention_cross_validate(const Command& attention) {
  auto command = std::make_shared<CrossValidateCommand>();
  const Command sub = attention.add_command(
      "cross-validate", "Trains and tests a model for each fold of a token file");
  sub.add_option("-o,--output",
                 command->options.folder,
                 "Save each finished fold in this folder, and continue from those saved there")
      .required()
      .type_name("DIR");
  command->common.add(sub, true);
  command->device.add(sub);
  command->json.add(sub);
  command->run.add(sub);
  sub.footer(
      "Examples:\n"
      "  matapprox attention cross-validate --task token_file --path bbc.h5 --folds 10 --attention "
      "linformer -o folds");
  sub.action([command] { return run_cross_validate(*command); });
}

}  // namespace matapprox::app
