#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "command_line/command_line.hpp"
#include "experiment.hpp"
#include "report/json.hpp"
#include "report/plot.hpp"
#include "run_report.hpp"

namespace matapprox::app {

/// Facts about a row by name: "task", "model", "length", "steps". A fact that is missing is the
/// empty text.
using Facts = std::map<std::string, std::string>;

/// An experiment of a paper: its part of configs/experiments.json and the values of its options.
/// That file has the help, the options of the command line, the rules that make the options of each
/// row from its facts, the published results and the texts of the table.
///
/// A rule applies to the rows whose facts have the values in "when" (one value, or a list of
/// several), and sets options of the task and of the model; "$name" is the fact of that name, and
/// an option with an empty value is omitted. Later rules take precedence.
class PaperExperiment {
 public:
  /// `name` is a key of the file.
  explicit PaperExperiment(const std::string& name);
  const report::Json& data() const { return data_; }
  /// Adds the experiment's own options. The object must not move afterwards.
  void add_options(const Command& sub);

  /// True if the command line has the option, which lists names.
  bool has(const std::string& option) const { return !names_.at(option).empty(); }
  /// All names that the option has.
  const std::vector<std::string>& all_names(const std::string& option) const {
    return all_names_.at(option);
  }
  /// The chosen names, or all. Throws InvalidArgument, suggesting the nearest, for a name that the
  /// option does not have.
  const std::vector<std::string>& names(const std::string& option) const;
  const std::vector<Index>& numbers(const std::string& option) const { return numbers_.at(option); }
  Index number(const std::string& option) const { return single_numbers_.at(option); }
  const std::string& file(const std::string& option) const { return files_.at(option); }
  const std::vector<std::uint64_t>& seeds() const { return seeds_; }
  /// Name of the task: token_file with --data, else the one that generates samples.
  std::string task() const;
  /// Adds a row for each seed with the options that the rules make from `facts`, which must have
  /// "task" and "model", and from the options of the experiment. The task that makes the samples is
  /// the fact "made_by", or else "task". `published` is the published error in percent; negative:
  /// none. Throws InvalidArgument for options that do not fit, and what reading a token file
  /// throws.
  void add_rows(const Facts& facts, double published, std::vector<ExperimentRow>& rows) const;

 private:
  std::string name_;
  report::Json data_;
  std::vector<report::Json> rules_;
  std::map<std::string, std::vector<std::string>> all_names_;
  std::map<std::string, std::vector<std::string>> names_;
  std::map<std::string, std::vector<Index>> numbers_;
  std::map<std::string, Index> single_numbers_;  ///< 0: not given
  std::map<std::string, std::string> files_;
  std::vector<std::uint64_t> seeds_;
};

/// True if all conditions in rule["when"] hold.
bool applies(const report::Json& rule, const Facts& facts);

/// Fractions of 1 (errors or accuracies) of one setting with several seeds.
class SeedShares {
 public:
  void add(double share) { shares_.push_back(share); }
  bool empty() const { return shares_.empty(); }
  /// Median; for an even number of shares, the mean of the two middle ones. Needs at least one
  /// share.
  double median() const;
  /// Text in percent: "1.06 (0.92 .. 2.88)", the median with the smallest and the largest share;
  /// with one seed "1.06". A published value in percent follows in brackets unless it is negative.
  std::string text(double published = -1) const;

 private:
  std::vector<double> shares_;
};

/// The finished rows that differ only in their seeds.
struct SeedGroup {
  const ExperimentRow* row;  ///< the first of them
  std::vector<const FinishedRow*> finished;

  SeedShares errors() const;
  double mean_seconds() const;
};

/// The rows in groups, in the order of the first row of each.
std::vector<SeedGroup> groups_of(const std::vector<FinishedRow>& rows);

/// Test errors of the rows of a model.
SeedShares errors_of(const std::vector<FinishedRow>& rows, const std::string& model);

/// Median of the curves of several seeds at each step.
Curve median_curve(const std::vector<Curve>& curves);

/// Results that an experiment shows of its rows, either of all or of the finished ones.
struct ShownRows {
  std::string text;
  std::vector<report::Chart> charts{};
  report::Json more = report::Json::object();  ///< entries of the document besides the rows
};

/// The rows of an experiment that are finished, at least one.
struct FinishedExperiment {
  const PaperExperiment& experiment;
  const std::string& folder;
  const std::vector<FinishedRow>& rows;

  /// The model that a finished row has stored in the folder.
  training::SavedModel load(const ExperimentRow& row) const;
  /// A line of the table; the last of data()["columns"], which are formats, serves all further
  /// cells.
  std::string line(const std::vector<std::string>& cells) const;
  /// One line for each baseline of the first row: `format` has the name and the error in percent.
  std::string baselines(const char* format) const;
};

/// "name 1.23 %; other 4.56 %"
std::string baselines_text(const FinishedRow& row);

/// Adds the median curve of each model that has curves, in the order of `models`, to the chart.
void add_median_curves(const std::vector<std::string>& models,
                       const std::map<std::string, std::vector<Curve>>& curves,
                       report::Chart& chart);

}  // namespace matapprox::app
