#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/grouped_flags.hpp"
#include "matapprox/training/model_file.hpp"

namespace matapprox::app {

/// Everything that a training run is made from, as flags and in a file of flags: task, model,
/// mechanism, training.
class RunFlags {
 public:
  RunFlags();
  void add(const Command& command);
  /// Reads --config: `option = value` lines in TOML, for options that the command line does not
  /// give; where it names the mechanism, options of others are left out. Table headers are for the
  /// reader only. Throws FileError if there is no such file, InvalidArgument for an option that the
  /// command does not have.
  void read_config();
  /// The run that the flags describe, before its first step, with every option spelled out. Throws
  /// InvalidArgument without a task.
  training::SavedModel described(std::uint64_t seed) const;
  /// The file of --config, empty if there is none.
  const std::string& config() const { return config_; }

 private:
  /// One line of the file, unless the command line gives that option.
  void take(const ConfigLine& line,
            const std::vector<std::string>& known,
            const std::vector<Option>& given) const;

  bool is_of_another_mechanism(std::string name) const;

  std::optional<Command> command_;
  std::string mechanism_given_;  ///< on the command line
  std::string config_;
  std::string task_;
  GroupedFlags task_flags_;
  GroupedFlags mechanism_flags_;
  NamedFlags model_flags_;
  NamedFlags training_flags_;
};

/// The tasks with their options.
std::vector<GroupedFlags::Group> all_tasks();

/// A run before its first step, from a task with its options and all other options, of the model,
/// its mechanism and the training, in one list; what is not given has its default. An option that
/// several of them have goes to all. Throws InvalidArgument for one that none has.
training::SavedModel described_run(const std::string& task,
                                   const NamedOptions& task_options,
                                   const NamedOptions& options,
                                   std::uint64_t seed);

/// The same model with the options that it has not, as those of a file of an older version, at
/// their defaults.
training::SavedModel with_all_options(training::SavedModel saved);

/// The task of a saved model; with `seed` other data of the same kind.
std::unique_ptr<tasks::Task> task_of(const training::SavedModel& saved, std::uint64_t seed);

/// The file that its task reads; empty if the task makes its samples.
std::string data_path(const training::SavedModel& saved);

}  // namespace matapprox::app
