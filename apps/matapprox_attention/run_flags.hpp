#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/file_plan.hpp"
#include "command_line/grouped_flags.hpp"
#include "matapprox/attention/training/attention_on_sample.hpp"
#include "matapprox/attention/training/model_file.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// An option that names the file of one chart.
class ChartOption {
 public:
  /// `flag` is, for example, "--chart"; messages name it.
  void add(const Command& command, const char* flag, const char* help);
  bool is_given() const { return !path_.empty(); }
  /// Throws InvalidArgument for a file that is neither SVG nor PNG, NotAvailable without gnuplot,
  /// and the errors of `files`. Must be called before anything is computed.
  void check(FilePlan& files) const;
  /// Writes the chart that draw() returns, if requested, as SVG or PNG according to the file name.
  void write(const std::function<report::Chart()>& draw) const;

 private:
  std::string flag_;
  std::string path_;
};

/// The choice of one of a model's attention matrices: --layer and --head, or --summary.
class ChosenMap {
 public:
  void add(const Command& command);
  /// Throws InvalidArgument for an option that has no effect.
  void check() const;
  std::shared_ptr<const LinearOperator> matrix(const training::AttentionOnSample& attention) const;
  /// "layer 0, head 1"
  std::string text() const;
  /// Adds `summary`, `layer` and `head`; the last two are null with --summary.
  void describe(report::Json& json) const;

 private:
  std::optional<Command> command_;
  Index layer_ = 0;
  Index head_ = 0;
  bool summary_ = false;
};

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
