#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/grouped_flags.hpp"
#include "matapprox/training/model_file.hpp"

namespace matapprox::app {

/// All settings of a training run, as flags and in a file of flags: task, model, mechanism,
/// training.
class RunFlags {
 public:
  RunFlags();
  void add(const Command& command);
  /// Reads --config: `option = value` lines in TOML, for options that are not on the command line.
  /// If the command line names the mechanism, options of other mechanisms are ignored. Table
  /// headers have no effect. Throws FileError if there is no such file, InvalidArgument for an
  /// option that the command does not have.
  void read_config();
  /// Returns the run that the flags describe, before its first step, with every option set. Throws
  /// InvalidArgument without a task.
  training::SavedModel described(std::uint64_t seed) const;
  /// Path of the file of --config, empty if there is none.
  const std::string& config() const { return config_; }

 private:
  /// Applies one line of the file, unless the command line gives that option.
  void take(const ConfigLine& line,
            const std::vector<std::string>& known,
            const std::vector<Option>& given) const;

  bool is_of_another_mechanism(std::string name) const;

  std::optional<Command> command_;
  std::string mechanism_given_;  ///< the mechanism named on the command line
  std::string config_;
  std::string task_;
  GroupedFlags task_flags_;
  GroupedFlags mechanism_flags_;
  NamedFlags model_flags_;
  NamedFlags training_flags_;
};

/// All tasks with their options.
std::vector<GroupedFlags::Group> all_tasks();

/// Describes a run before its first step. `options` lists all options of the model, its mechanism
/// and the training; options that are not given have their defaults. An option that several of them
/// have is set in all. Throws InvalidArgument for an option that none has.
training::SavedModel described_run(const std::string& task,
                                   const NamedOptions& task_options,
                                   const NamedOptions& options,
                                   std::uint64_t seed);

/// The same model, with options that are missing, as in a file of an older version, set to their
/// defaults.
training::SavedModel with_all_options(training::SavedModel saved);

/// The task of a saved model; another `seed` gives other data of the same kind.
std::unique_ptr<tasks::Task> task_of(const training::SavedModel& saved, std::uint64_t seed);

/// The file that the task reads; empty if the task generates its samples.
std::string data_path(const training::SavedModel& saved);

}  // namespace matapprox::app
