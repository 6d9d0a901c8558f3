#include "paper_experiment.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <tuple>

#include "matapprox/core/require.hpp"
#include "run_flags.hpp"

namespace matapprox::app {

using report::Json;

/// Contents of configs/experiments.json at the time when the program was built.
std::string_view experiments_json();

namespace {

const Json& all_experiments() {
  static const Json json = Json::parse(experiments_json());
  return json;
}

/// The options or rules of an experiment, with those that it shares in place of their names.
std::vector<Json> with_shared(const Json& list, const Json& shared) {
  std::vector<Json> all;
  for (const Json& each : list) {
    if (!each.is_string()) {
      all.push_back(each);
      continue;
    }
    const auto name = each.get<std::string>();
    const Json& meant = shared.at(name);
    if (meant.is_array()) {
      all.insert(all.end(), meant.begin(), meant.end());
    } else {
      all.push_back(meant);
      all.back()["name"] = name;
    }
  }
  return all;
}

std::string fact(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

/// Adds the options of one part of a rule, "task" or "model".
void add_options_of(const Json& rule, const char* part, const Facts& facts, NamedOptions& options) {
  if (!rule.contains(part)) return;
  for (const auto& [name, text] : rule[part].items()) {
    auto value = text.get<std::string>();
    if (value.starts_with('$')) value = fact(facts, value.substr(1));
    if (!value.empty()) options.emplace_back(name, value);
  }
}

}  // namespace

bool applies(const Json& rule, const Facts& facts) {
  if (!rule.contains("when")) return true;
  for (const auto& [name, wanted] : rule["when"].items()) {
    const Json value = fact(facts, name);
    const bool holds = wanted.is_array()
                           ? std::find(wanted.begin(), wanted.end(), value) != wanted.end()
                           : wanted == value;
    if (!holds) return false;
  }
  return true;
}

PaperExperiment::PaperExperiment(const std::string& name)
    : name_(name),
      data_(all_experiments().at(name)),
      rules_(with_shared(data_.at("rules"), all_experiments().at("shared_rules"))) {}

void PaperExperiment::add_options(const Command& sub) {
  for (const Json& option :
       with_shared(data_.at("options"), all_experiments().at("shared_options"))) {
    const auto name = option.at("name").get<std::string>();
    const auto kind = option.at("kind").get<std::string>();
    const auto help = option.at("help").get<std::string>();
    const Json initial = option.value("default", Json());
    const auto add = [&](auto& variable) {
      if (!initial.is_null()) initial.get_to(variable);
      return sub.add_option("--" + name, variable, help).group("Rows");
    };
    if (kind == "names") {
      initial.get_to(all_names_[name]);
      sub.add_option("--" + name, names_[name], help).delimiter(',').group("Rows");
    } else if (kind == "numbers") {
      add(numbers_[name]).delimiter(',').range(1);
    } else if (kind == "seeds") {
      add(seeds_).delimiter(',');
    } else if (kind == "number") {
      add(single_numbers_[name]).range(1);
    } else {
      add(files_[name]).type_name("FILE");
    }
  }
}

const std::vector<std::string>& PaperExperiment::names(const std::string& option) const {
  const std::vector<std::string>& all = all_names_.at(option);
  const std::vector<std::string>& given = names_.at(option);
  for (const std::string& name : given) {
    require(std::find(all.begin(), all.end(), name) != all.end(),
            "reproduce {}: there is no {} '{}'{}; there are {}",
            name_,
            option.substr(0, option.size() - 1),  // the option is the plural
            name,
            suggestion(name, all),
            fmt::join(all, ", "));
  }
  return given.empty() ? all : given;
}

std::string PaperExperiment::task() const {
  return files_.at("data").empty() ? data_.at("generated_task").get<std::string>() : "token_file";
}

void PaperExperiment::add_rows(const Facts& facts,
                               double published,
                               std::vector<ExperimentRow>& rows) const {
  Facts all = facts;
  all.insert(files_.begin(), files_.end());
  for (const auto& [name, number] : single_numbers_) {
    if (number > 0) all.emplace(name, fmt::format("{}", number));
  }
  NamedOptions task_options;
  NamedOptions options;
  for (const Json& rule : rules_) {
    if (!applies(rule, all)) continue;
    add_options_of(rule, "task", all, task_options);
    add_options_of(rule, "model", all, options);
  }
  const std::string made_by = fact(facts, "made_by");
  for (const std::uint64_t seed : seeds_) {
    ExperimentRow row;
    row.task = facts.at("task");
    row.model = facts.at("model");
    row.seed = seed;
    row.described =
        described_run(made_by.empty() ? row.task : made_by, task_options, options, seed);
    row.head = enum_name(row.described.model.options.pool);
    row.length =
        facts.contains("length") ? std::stoll(facts.at("length")) : row.described.model.task.length;
    row.published = published;
    rows.push_back(std::move(row));
  }
}

double SeedShares::median() const {
  std::vector<double> sorted = shares_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::string SeedShares::text(double published) const {
  std::string text = fmt::format("{:.2f}", 100 * median());
  if (shares_.size() > 1) {
    const auto [least, most] = std::minmax_element(shares_.begin(), shares_.end());
    text += fmt::format(" ({:.2f} .. {:.2f})", 100 * *least, 100 * *most);
  }
  if (published >= 0) text += fmt::format(" [{:.2f}]", published);
  return text;
}

SeedShares SeedGroup::errors() const {
  SeedShares errors;
  for (const FinishedRow* each : finished) errors.add(each->test.error);
  return errors;
}

double SeedGroup::mean_seconds() const {
  double seconds = 0;
  for (const FinishedRow* each : finished) seconds += each->seconds;
  return seconds / static_cast<double>(finished.size());
}

std::vector<SeedGroup> groups_of(const std::vector<FinishedRow>& rows) {
  std::vector<SeedGroup> groups;
  const auto kind_of = [](const ExperimentRow& row) {
    return std::tie(row.task, row.head, row.model, row.length);
  };
  for (const FinishedRow& finished : rows) {
    auto group = std::find_if(groups.begin(), groups.end(), [&](const SeedGroup& each) {
      return kind_of(*each.row) == kind_of(finished.row);
    });
    if (group == groups.end()) group = groups.insert(groups.end(), {&finished.row, {}});
    group->finished.push_back(&finished);
  }
  return groups;
}

SeedShares errors_of(const std::vector<FinishedRow>& rows, const std::string& model) {
  SeedShares errors;
  for (const FinishedRow& finished : rows) {
    if (finished.row.model == model) errors.add(finished.test.error);
  }
  return errors;
}

Curve median_curve(const std::vector<Curve>& curves) {
  std::map<double, SeedShares> of_step;
  for (const Curve& curve : curves) {
    for (const auto& [step, value] : curve) of_step[step].add(value);
  }
  Curve median;
  for (const auto& [step, shares] : of_step) median.emplace_back(step, shares.median());
  return median;
}

training::SavedModel FinishedExperiment::load(const ExperimentRow& row) const {
  return training::load_model((std::filesystem::path(folder) / (row.name() + ".h5")).string());
}

std::string FinishedExperiment::line(const std::vector<std::string>& cells) const {
  const Json& columns = experiment.data().at("columns");
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto format = columns.at(std::min(i, columns.size() - 1)).get<std::string>();
    text += fmt::format(fmt::runtime(format), cells[i]);
  }
  return text + "\n";
}

std::string FinishedExperiment::baselines(const char* format) const {
  std::string text;
  for (const tasks::Baseline& baseline : rows.front().baselines)
    text += fmt::format(fmt::runtime(format), baseline.name, 100 * baseline.error);
  return text;
}

std::string baselines_text(const FinishedRow& row) {
  std::vector<std::string> texts;
  for (const tasks::Baseline& baseline : row.baselines)
    texts.push_back(fmt::format("{} {:.2f} %", baseline.name, 100 * baseline.error));
  return fmt::format("{}", fmt::join(texts, "; "));
}

void add_median_curves(const std::vector<std::string>& models,
                       const std::map<std::string, std::vector<Curve>>& curves,
                       report::Chart& chart) {
  for (std::size_t m = 0; m < models.size(); ++m) {
    const auto found = curves.find(models[m]);
    if (found == curves.end()) continue;
    chart.series.push_back(report::numbered_series(models[m], median_curve(found->second), m));
  }
}

}  // namespace matapprox::app
