#include "attention/run_flags.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "core/require.hpp"
#include "matapprox/attention/registry.hpp"

namespace matapprox::app {
namespace {

std::vector<OwnedFlags::Owner> all_mechanisms() {
  std::vector<OwnedFlags::Owner> owners;
  for (const attention::Mechanism& mechanism : attention::mechanisms())
    owners.push_back({std::string(mechanism.name), mechanism.options()});
  return owners;
}

/// All options with their values: the defaults, where nothing else was given.
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

std::vector<OptionText> options_of(const std::vector<OwnedFlags::Owner>& owners,
                                   const std::string& name) {
  const auto found = std::find_if(
      owners.begin(), owners.end(), [&](const auto& owner) { return owner.name == name; });
  return found == owners.end() ? std::vector<OptionText>{} : found->options;
}

template <class Options>
void add_flags(CLI::App& app, const std::string& group, NamedFlags& flags) {
  for (const OptionText& option : list_options(Options{}))
    flags.add(app, flag_of(option.name), option.name, option, option.help, group);
}

}  // namespace

std::vector<OwnedFlags::Owner> all_tasks() {
  std::vector<OwnedFlags::Owner> owners;
  for (const tasks::TaskEntry& task : tasks::task_entries())
    owners.push_back({std::string(task.name), task.options()});
  return owners;
}

RunFlags::RunFlags() : task_flags_(all_tasks()), mechanism_flags_(all_mechanisms()) {}

void RunFlags::add(CLI::App& app) {
  app_ = &app;
  app.add_option("--task", task_, "One of those that `matapprox attention list` shows")
      ->type_name("TASK");
  app.add_option("--config", config_, "Read options from this file; the command line goes first")
      ->type_name("FILE.toml");
  add_flags<training::ModelOptions>(app, "The model", model_flags_);
  add_flags<training::TrainingOptions>(app, "Training", training_flags_);
  mechanism_flags_.add(app, "Options of the mechanisms", "attention", {"seed"});
  task_flags_.add(app, "Options of the tasks", "task", {"seed"});
}

void RunFlags::read_config() {
  if (config_.empty()) return;
  const CLI::Option* mechanism = app_->get_option("--attention");
  if (mechanism->count() > 0) mechanism_given_ = mechanism->as<std::string>();
  std::ifstream file(config_);
  if (!file) throw FileError(fmt::format("{}: cannot be opened", config_));
  std::vector<std::string> known;
  std::vector<const CLI::Option*> given;
  for (const CLI::Option* option : app_->get_options()) {
    known.push_back(option->get_single_name());
    if (option->count() > 0) given.push_back(option);
  }
  try {
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(file))
      take(item, known, given);
  } catch (const CLI::ParseError& misfit) {
    throw InvalidArgument(fmt::format("{}: {}", config_, misfit.what()));
  }
}

/// Where the command line names the mechanism, what a file says of another one's options is not
/// meant for it.
bool RunFlags::is_of_another_mechanism(std::string name) const {
  if (mechanism_given_.empty()) return false;
  std::replace(name.begin(), name.end(), '-', '_');
  return mechanism_flags_.is_of_others(name, mechanism_given_);
}

void RunFlags::take(const CLI::ConfigItem& item,
                    const std::vector<std::string>& known,
                    const std::vector<const CLI::Option*>& given) const {
  if (item.inputs.empty() || item.name == "++" || item.name == "--") return;
  if (is_of_another_mechanism(item.name)) return;
  CLI::Option* option = app_->get_option_no_throw(flag_of(item.name));
  if (option == nullptr || item.name == "config" || item.name == "help") {
    std::string flag = item.name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    throw InvalidArgument(
        fmt::format("{}: there is no option '{}'{}", config_, item.name, suggestion(flag, known)));
  }
  if (std::find(given.begin(), given.end(), option) != given.end()) return;
  require(option->count() == 0, "{}: {} is given twice", config_, item.name);
  option->add_result(item.inputs);
  option->run_callback();
}

training::SavedModel RunFlags::described(std::uint64_t seed) const {
  require(!task_.empty(), "give a --task, on the command line or in a --config file");
  training::SavedModel saved;
  saved.task = task_;
  saved.seed = seed;
  saved.task_options = complete(options_of(all_tasks(), task_), task_flags_.given(task_));
  saved.model.options = options_from<training::ModelOptions>(model_flags_.given());
  const std::string& mechanism = saved.model.options.attention;
  saved.model.attention_options =
      complete(options_of(all_mechanisms(), mechanism), mechanism_flags_.given(mechanism));
  saved.model.seed = seed;
  saved.training_options =
      complete(list_options(training::TrainingOptions{}), training_flags_.given());
  saved.model.task = task_of(saved, seed)->shape();
  return saved;
}

std::unique_ptr<tasks::Task> task_of(const training::SavedModel& saved, std::uint64_t seed) {
  return tasks::make_task(saved.task, saved.task_options, seed);
}

}  // namespace matapprox::app
