#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "command_line/command_line.hpp"
#include "command_line/shared_options.hpp"
#include "experiment.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// Fractions of 1 (errors or accuracies) of one setting with several seeds.
class SeedShares {
 public:
  void add(double share) { shares_.push_back(share); }
  bool empty() const { return shares_.empty(); }
  /// Median; for an even number of shares, the mean of the two middle ones. Needs at least one
  /// share.
  double median() const;
  /// Text in percent: "1.06 (0.92 .. 2.88)", the median with the smallest and the largest share;
  /// with one seed "1.06".
  std::string text() const;

 private:
  std::vector<double> shares_;
};

/// Points (step, value) of a curve.
using Curve = std::vector<std::pair<double, double>>;

/// Median of the curves of several seeds at each step.
Curve median_curve(const std::vector<Curve>& curves);

/// Results that an experiment shows of its rows, either of all or of the finished ones.
struct ShownRows {
  std::string text;
  std::vector<report::Chart> charts;
  report::Json more = report::Json::object();  ///< entries of the document besides the rows
};
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

/// Options shared by all commands of `reproduce` that train rows: folder of the rows, test samples,
/// charts, threads, JSON.
class TrainedRows {
 public:
  /// `name` is the name of the experiment: reproduce NAME.
  void add(const Command& sub, const std::string& name);
  /// Adds an option with a comma-separated list of values that selects rows.
  template <class List>
  static void add_list(const Command& sub, const char* flag, List& list, const char* help) {
    auto option = sub.add_option(flag, list, help).delimiter(',').type_name("").group("Rows");
    if constexpr (std::is_same_v<List, std::vector<Index>>) option.range(1);
  }
  /// Adds an option of the rows that is a number of at least 1.
  static void add_number(const Command& sub, const char* flag, Index& number, const char* help);
  /// Trains the rows that are not stored yet and writes their results. Returns the exit code.
  int run(const std::vector<ExperimentRow>& rows, const ShowRows& show) const;
  const std::string& folder() const { return options_.folder; }

 private:
  /// Throws before the training if a result could not be written; `data` is the file that the rows
  /// read, empty if they read none.
  void prepare(const std::string& data) const;

  std::string name_;
  ExperimentOptions options_;
  ChartFolder charts_;
  CommonOptions common_;
  DeviceOptions device_;
  JsonOptions json_;
};

/// The model that a finished row has stored in the folder.
training::SavedModel load_row(const std::string& folder, const ExperimentRow& row);

/// Test errors of the rows of a model.
SeedShares errors_of(const std::vector<FinishedRow>& rows, const std::string& model);

/// Throws InvalidArgument for a name of `given` that is not in `known`, with the nearest known
/// name.
void require_known(const std::string& experiment,
                   const char* what,
                   const std::vector<std::string>& given,
                   const std::vector<std::string>& known);

/// The chosen values; all if none is chosen.
template <class T>
std::vector<T> or_all(const std::vector<T>& given, const std::vector<T>& all) {
  return given.empty() ? all : given;
}

}  // namespace matapprox::app
