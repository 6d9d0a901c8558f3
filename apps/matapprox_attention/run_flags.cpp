#include "run_flags.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "command_line/output.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/operators/dense.hpp"

namespace matapprox::app {

void ChartOption::add(const Command& command, const char* flag, const char* help) {
  flag_ = flag;
  command.add_option(flag, path_, help).type_name("FILE.svg|png");
}

void ChartOption::check(FilePlan& files) const {
  if (!is_given()) return;
  require(path_.ends_with(".svg") || path_.ends_with(".png"),
          "{} {}: the name must end with .svg or .png",
          flag_,
          path_);
  check_gnuplot();
  files.writes(flag_, path_);
}

void ChartOption::write(const std::function<report::Chart()>& draw) const {
  if (!is_given()) return;
  draw_until_stopped([&] {
    const report::ChartFiles files = report::draw_files(draw());
    write_text(path_, path_.ends_with(".svg") ? files.svg : files.png);
  });
}

void ChosenMap::add(const Command& command) {
  command_ = command;
  command.add_option("--layer", layer_, "Layer, counted from 0 [0]").range(0);
  command.add_option("--head", head_, "Head, counted from 0 [0]").range(0);
  command.add_flag(
      "--summary", summary_, "One matrix per model: the maximum over heads, averaged over layers");
}

void ChosenMap::check() const {
  for (const char* flag : {"--layer", "--head"}) {
    require(!summary_ || command_->find_option(flag)->count() == 0,
            "{} has no effect on --summary",
            flag);
  }
}

std::shared_ptr<const LinearOperator> ChosenMap::matrix(
    const training::AttentionOnSample& attention) const {
  if (summary_) return std::make_shared<DenseOperator>(attention.summary());
  return attention.matrix(layer_, head_);
}

std::string ChosenMap::text() const {
  return summary_ ? "largest over heads, mean over layers"
                  : fmt::format("layer {}, head {}", layer_, head_);
}

void ChosenMap::describe(report::Json& json) const {
  json["summary"] = summary_;
  json["layer"] = summary_ ? report::Json(nullptr) : report::Json(layer_);
  json["head"] = summary_ ? report::Json(nullptr) : report::Json(head_);
}

namespace {

std::vector<GroupedFlags::Group> all_mechanisms() {
  std::vector<GroupedFlags::Group> groups;
  for (const attention::Mechanism& mechanism : attention::mechanisms())
    groups.push_back({std::string(mechanism.name), mechanism.options()});
  return groups;
}

/// All options with their values; options that are not given have their defaults.
NamedOptions complete(const std::vector<OptionText>& defaults, const NamedOptions& given) {
  NamedOptions all;
  for (const OptionText& option : defaults) all.emplace_back(option.name, option.value);
  for (const auto& [name, value] : given) {
    const auto found = std::find_if(all.begin(), all.end(), [&, &wanted = name](const auto& each) {
      return each.first == wanted;
    });
    if (found == all.end()) {
      all.emplace_back(name, value);
    } else {
      found->second = value;
    }
  }
  return all;
}

std::vector<OptionText> options_of(const std::vector<GroupedFlags::Group>& groups,
                                   const std::string& name) {
  const auto found = std::find_if(
      groups.begin(), groups.end(), [&](const auto& group) { return group.name == name; });
  return found == groups.end() ? std::vector<OptionText>{} : found->options;
}

template <class Options>
void add_flags(const Command& command, const std::string& group, NamedFlags& flags) {
  for (const OptionText& option : list_options(Options{}))
    flags.add(command, flag_of(option.name), option.name, option, option.help, group);
}

bool has_option(const std::vector<OptionText>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const OptionText& option) {
    return option.name == name;
  });
}

/// The options in `given` that `options` contains; the last one of a name counts.
NamedOptions options_among(const std::vector<OptionText>& options, const NamedOptions& given) {
  NamedOptions among;
  for (const auto& [name, value] : given) {
    if (!has_option(options, name)) continue;
    std::erase_if(among, [&, &wanted = name](const auto& each) { return each.first == wanted; });
    among.emplace_back(name, value);
  }
  return among;
}

/// A task with the options that are given for it.
struct NamedChoice {
  std::string name;
  NamedOptions options;
};

training::SavedModel describe(const NamedChoice& task,
                              const NamedOptions& model,
                              const NamedOptions& mechanism,
                              const NamedOptions& training,
                              std::uint64_t seed) {
  training::SavedModel saved;
  saved.task = task.name;
  saved.seed = seed;
  saved.task_options = task.options;
  saved.model.options = options_from<training::ModelOptions>(model);
  saved.model.attention_options = mechanism;
  saved.model.seed = seed;
  saved.training_options = training;
  saved = with_all_options(std::move(saved));
  saved.model.task = task_of(saved, seed)->shape();
  return saved;
}

}  // namespace

std::vector<GroupedFlags::Group> all_tasks() {
  std::vector<GroupedFlags::Group> groups;
  for (const tasks::TaskEntry& task : tasks::task_entries())
    groups.push_back({std::string(task.name), task.options()});
  return groups;
}

training::SavedModel with_all_options(training::SavedModel saved) {
  saved.task_options = complete(options_of(all_tasks(), saved.task), saved.task_options);
  saved.model.attention_options = complete(
      options_of(all_mechanisms(), saved.model.options.attention), saved.model.attention_options);
  saved.training_options =
      complete(list_options(training::TrainingOptions{}), saved.training_options);
  return saved;
}

RunFlags::RunFlags() : task_flags_(all_tasks()), mechanism_flags_(all_mechanisms()) {}

void RunFlags::add(const Command& command) {
  command_ = command;
  command.add_option("--task", task_, "Name of a task; `matapprox attention list` shows all")
      .type_name("TASK");
  command
      .add_option(
          "--config", config_, "Read options from this file; the command line takes precedence")
      .type_name("FILE.toml");
  add_flags<training::ModelOptions>(command, "Model", model_flags_);
  add_flags<training::TrainingOptions>(command, "Training", training_flags_);
  mechanism_flags_.add(command, "mechanisms", "attention", {"seed"});
  task_flags_.add(command, "tasks", "task", {"seed"});
}

void RunFlags::read_config() {
  if (config_.empty()) return;
  for (const auto& [name, value] : model_flags_.given()) {
    if (name == "attention") mechanism_given_ = value;
  }
  std::vector<std::string> known;
  std::vector<Option> given;
  for (const Option& option : command_->options()) {
    known.push_back(option.single_name());
    if (option.count() > 0) given.push_back(option);
  }
  for (const ConfigLine& line : read_config_file(config_))
    take({present_option(line.name, config_), line.values}, known, given);
}

/// Returns true for options of other mechanisms than the one on the command line: those in a file
/// are ignored then.
bool RunFlags::is_of_another_mechanism(std::string name) const {
  if (mechanism_given_.empty()) return false;
  std::replace(name.begin(), name.end(), '-', '_');
  return mechanism_flags_.is_of_others(name, mechanism_given_);
}

void RunFlags::take(const ConfigLine& line,
                    const std::vector<std::string>& known,
                    const std::vector<Option>& given) const {
  if (is_of_another_mechanism(line.name)) return;
  const std::optional<Option> option = command_->find_option(flag_of(line.name));
  if (!option || line.name == "config" || line.name == "help") {
    std::string flag = line.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    throw InvalidArgument(
        fmt::format("{}: there is no option '{}'{}", config_, line.name, suggestion(flag, known)));
  }
  if (std::find(given.begin(), given.end(), *option) != given.end()) return;
  require(option->count() == 0, "{}: {} is given twice", config_, line.name);
  option->take(line.values, config_);
}

training::SavedModel RunFlags::described(std::uint64_t seed) const {
  require(!task_.empty(), "give a --task, on the command line or in a --config file");
  const NamedOptions model = model_flags_.given();
  const std::string mechanism = options_from<training::ModelOptions>(model).attention;
  return describe({task_, task_flags_.given(task_)},
                  model,
                  mechanism_flags_.given(mechanism),
                  training_flags_.given(),
                  seed);
}

training::SavedModel described_run(const std::string& task,
                                   const NamedOptions& task_options,
                                   const NamedOptions& options,
                                   std::uint64_t seed) {
  const std::vector<OptionText> of_model = list_options(training::ModelOptions{});
  const std::vector<OptionText> of_training = list_options(training::TrainingOptions{});
  NamedOptions model = options_among(of_model, options);
  const std::string mechanism = options_from<training::ModelOptions>(model).attention;
  const std::vector<OptionText> of_mechanism = options_of(all_mechanisms(), mechanism);
  for (const auto& [name, value] : options) {
    const bool known = has_option(of_model, name) || has_option(of_training, name) ||
                       has_option(of_mechanism, name);
    require(known, "{} on {}: there is no option '{}'", mechanism, task, name);
  }
  return describe({task, task_options},
                  model,
                  options_among(of_mechanism, options),
                  options_among(of_training, options),
                  seed);
}

std::unique_ptr<tasks::Task> task_of(const training::SavedModel& saved, std::uint64_t seed) {
  return tasks::make_task(saved.task, saved.task_options, seed);
}

std::string data_path(const training::SavedModel& saved) {
  for (const auto& [name, value] : saved.task_options) {
    if (name == "path") return value;
  }
  return {};
}

}  // namespace matapprox::app
