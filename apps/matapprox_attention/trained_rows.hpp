#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line/shared_options.hpp"
#include "paper_experiment.hpp"

namespace matapprox::app {

using ShowRows = std::function<ShownRows(const std::vector<FinishedRow>& rows)>;

/// --charts: the folder for the charts of an experiment.
class ChartFolder {
 public:
  void add(const Command& sub);
  /// Throws if charts cannot be written there; makes the folder.
  void prepare(FilePlan& files) const;
  /// Writes each chart as SVG and PNG under its name; does nothing without --charts.
  void write(const std::vector<report::Chart>& charts) const;

 private:
  std::string path_;
};

/// The words with which messages name the rows of a command.
struct RowWords {
  const char* rows;  ///< "rows", "folds"
  std::function<std::string(const ExperimentRow& row)> name;
};

/// Calls run_experiment on the chosen device, until an interrupt. The plan, the progress and the
/// result of each row go to stderr unless quiet.
ExperimentResult train_rows(const std::vector<ExperimentRow>& rows,
                            ExperimentOptions options,
                            const DeviceOptions& device,
                            bool quiet,
                            const RowWords& words);

/// Says that the training was interrupted with `finished` of `all` rows saved in the folder.
/// Returns the exit code.
int report_interrupt(
    bool quiet, std::size_t finished, std::size_t all, const char* rows, const std::string& folder);

/// Options shared by all commands of `reproduce` that train rows: folder of the rows, test samples,
/// charts, threads, JSON.
class TrainedRows {
 public:
  /// `name` is the name of the experiment: reproduce NAME.
  void add(const Command& sub, const std::string& name);
  /// Trains the rows that are not stored yet and writes their results; shows them if any are
  /// finished. Returns the exit code. Throws before the training if a result could not be written.
  int run(const std::vector<ExperimentRow>& rows, const ShowRows& show) const;
  const std::string& folder() const { return options_.folder; }

 private:
  std::string name_;
  ExperimentOptions options_;
  ChartFolder charts_;
  CommonOptions common_;
  DeviceOptions device_;
  JsonOptions json_;
};

}  // namespace matapprox::app
