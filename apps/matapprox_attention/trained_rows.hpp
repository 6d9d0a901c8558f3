#pragma once

#include <functional>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "experiment.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"
#include "seed_shares.hpp"

namespace matapprox::app {

/// What an experiment makes of its rows, all of them or those that are done.
struct ShownRows {
  std::string text;
  std::vector<report::Chart> charts;
  report::Json more = report::Json::object();  ///< of the document, besides the rows
};
using ShowRows = std::function<ShownRows(const std::vector<FinishedRow>& rows)>;

/// --charts: the folder that an experiment's charts go to.
class ChartFolder {
 public:
  void add(const Command& sub);
  /// Throws unless they can be written there; makes the folder.
  void prepare(FilePlan& files) const;
  /// Each as SVG and PNG under its name; none without --charts.
  void write(const std::vector<report::Chart>& charts) const;

 private:
  std::string path_;
};

/// What all commands of `reproduce` share that train rows: where the rows are kept, test samples,
/// charts, threads, JSON.
class TrainedRows {
 public:
  /// `name` is that of the experiment: reproduce NAME.
  void add(const Command& sub, const std::string& name);
  /// Adds a list of values, by commas, that chooses rows.
  template <class List>
  static void add_list(const Command& sub, const char* flag, List& list, const char* help) {
    auto option = sub.add_option(flag, list, help).delimiter(',').type_name("").group("Rows");
    if constexpr (std::is_same_v<List, std::vector<Index>>) option.range(1);
  }
  /// Adds a number of at least 1 of the rows.
  static void add_number(const Command& sub, const char* flag, Index& number, const char* help);
  /// Makes the rows that are not kept yet and writes what comes of them: the exit code.
  int run(const std::vector<ExperimentRow>& rows, const ShowRows& show) const;
  const std::string& folder() const { return options_.folder; }

 private:
  /// Throws before anything is trained where a result could not be written; `data` is the file that
  /// the rows read, empty if they read none.
  void prepare(const std::string& data) const;

  std::string name_;
  ExperimentOptions options_;
  ChartFolder charts_;
  CommonOptions common_;
  DeviceOptions device_;
  JsonOptions json_;
};

/// The model that a row which is done left in the folder.
training::SavedModel load_row(const std::string& folder, const ExperimentRow& row);

/// Test errors of the rows of a model.
SeedShares errors_of(const std::vector<FinishedRow>& rows, const std::string& model);

/// Throws InvalidArgument for a name of `given` that is not in `known`, with the nearest that is.
void require_known(const std::string& experiment,
                   const char* what,
                   const std::vector<std::string>& given,
                   const std::vector<std::string>& known);

/// What is chosen; nothing means all.
template <class T>
std::vector<T> or_all(const std::vector<T>& given, const std::vector<T>& all) {
  return given.empty() ? all : given;
}

}  // namespace matapprox::app
