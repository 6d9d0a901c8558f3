#include "trained_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "report/gnuplot.hpp"
#include "run_flags.hpp"

namespace matapprox::app {

double SeedShares::median() const {
  std::vector<double> sorted = shares_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : 0.5 * (sorted[middle - 1] + sorted[middle]);
}

std::string SeedShares::text() const {
  std::string text = fmt::format("{:.2f}", 100 * median());
  if (shares_.size() > 1) {
    const auto [least, most] = std::minmax_element(shares_.begin(), shares_.end());
    text += fmt::format(" ({:.2f} .. {:.2f})", 100 * *least, 100 * *most);
  }
  return text;
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

namespace {

/// The file that the rows read, which is the same for all of them; empty if none reads one.
std::string data_of(const std::vector<ExperimentRow>& rows) {
  for (const ExperimentRow& row : rows) {
    std::string path = data_path(row.described);
    if (!path.empty()) return path;
  }
  return {};
}

/// Limits the samples of a validation to those of the test, so that a small test makes a small run.
std::vector<ExperimentRow> with_samples(std::vector<ExperimentRow> rows, Index test_samples) {
  for (ExperimentRow& row : rows) {
    for (auto& [name, value] : row.described.training_options) {
      if (name != "evaluation_samples") continue;
      value = std::to_string(std::min(Index{std::stoll(value)}, test_samples));
    }
  }
  return rows;
}

/// Reports the plan, the progress of the rows and the result of each.
class RowsReport {
 public:
  RowsReport(bool quiet, std::size_t rows) : quiet_(quiet), rows_(rows), line_(quiet) {}

  ExperimentEvents events() {
    ExperimentEvents events;
    events.planned = [this](const PlannedRows& planned) { plan(planned); };
    events.progress = [this](const std::string& row, double fraction) {
      running_[row] = fraction;
      line_.show([this] { return text(); });
    };
    events.finished = [this](const FinishedRow& row) { finish(row); };
    events.failed = [this](const std::string& row) {
      running_.erase(row);
      line_.clear();
      note(quiet_, row + ": failed");
    };
    events.note = [this](const std::string& text) { note(quiet_, text); };
    return events;
  }
  void clear() { line_.clear(); }

 private:
  void plan(const PlannedRows& planned) {
    planned_ = planned.rows;
    note(quiet_, plan_text(planned, rows_, "rows"));
  }
  void finish(const FinishedRow& row) {
    running_.erase(row.row.name());
    ++done_;
    line_.clear();
    note(quiet_,
         fmt::format("{}: {:.2f} %, {:.3g} s", row.row.name(), 100 * row.test.error, row.seconds));
  }
  std::string text() const {
    std::string text = fmt::format("{} of {} rows done", done_, planned_);
    for (const auto& [name, part] : running_)
      text += fmt::format(", {} {:.0f} %", name, 100 * part);
    return text;
  }

  bool quiet_;
  std::size_t rows_;
  ProgressLine line_;
  std::map<std::string, double> running_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

void ChartFolder::add(const Command& sub) {
  sub.add_option("--charts", path_, "Write the charts to this folder, as .svg and .png files")
      .type_name("DIR");
}

void ChartFolder::prepare(FilePlan& files) const {
  if (path_.empty()) return;
  check_gnuplot();
  files.makes_folder("--charts", path_);
  prepare_folder(path_);
}

void ChartFolder::write(const std::vector<report::Chart>& charts) const {
  if (path_.empty()) return;
  for (const report::Chart& chart : charts) {
    const report::ChartFiles files = report::draw_files(chart);
    const std::filesystem::path path = std::filesystem::path(path_) / chart.name;
    write_text(path.string() + ".svg", files.svg);
    write_text(path.string() + ".png", files.png);
  }
}

void TrainedRows::add(const Command& sub, const std::string& name) {
  name_ = name;
  options_.folder = "build/reproduce/" + name;
  add_number(
      sub,
      "--test-samples",
      options_.test_samples,
      "Number of test samples of each row, and maximum number of its validation samples [5000]");
  sub.add_option(
         "-o,--output",
         options_.folder,
         fmt::format(
             "Save each finished row in this folder, and continue from those saved there [{}]",
             options_.folder))
      .type_name("DIR");
  charts_.add(sub);
  common_.add(sub, false);
  device_.add(sub);
  json_.add(sub);
}

void TrainedRows::add_number(const Command& sub,
                             const char* flag,
                             Index& number,
                             const char* help) {
  sub.add_option(flag, number, help).range(1).type_name("").group("Rows");
}

void TrainedRows::prepare(const std::string& data) const {
  FilePlan files = json_.files();
  files.reads(data);
  charts_.prepare(files);
  files.makes_folder("-o", options_.folder);
  prepare_folder(options_.folder);
}

int TrainedRows::run(const std::vector<ExperimentRow>& rows, const ShowRows& show) const {
  common_.apply();
  device_.check();
  require(!rows.empty(), "reproduce {}: no rows are selected", name_);
  const std::string data = data_of(rows);
  prepare(data);
  const bool quiet = common_.quiet();
  ExperimentOptions options = options_;
  if (device_.wants_gpu()) {
    options.use_gpu = [this](training::Trainer& trainer) {
      return device_.move_to_gpu([&] { trainer.use_gpu(); });
    };
  }
  RowsReport report(quiet, rows.size());
  if (!data.empty()) options.data_sha256 = file_sha256(data);
  const ExperimentResult result = run_experiment(
      with_samples(rows, options.test_samples), options, catch_interrupts(), report.events());
  report.clear();

  const ShownRows shown = show(result.rows);
  report::Json json = report::document_head(rows.front().seed, threads());
  json["experiment"] = name_;
  json["rows"] = report::Json::array();
  for (const FinishedRow& row : result.rows) json["rows"].push_back(to_json(row));
  json.update(shown.more);
  json_.write(json);
  draw_until_stopped([&] { charts_.write(shown.charts); });
  if (!json_.replaces_text() && !result.rows.empty()) write_stdout(shown.text);
  if (!result.interrupted && !interrupt_requested()) return kDone;
  note(quiet,
       fmt::format("interrupted; {} of {} rows are finished and saved in {}: the same command "
                   "continues from there",
                   result.rows.size(),
                   rows.size(),
                   options_.folder));
  return kInterrupted;
}

training::SavedModel load_row(const std::string& folder, const ExperimentRow& row) {
  return training::load_model((std::filesystem::path(folder) / (row.name() + ".h5")).string());
}

SeedShares errors_of(const std::vector<FinishedRow>& rows, const std::string& model) {
  SeedShares errors;
  for (const FinishedRow& finished : rows) {
    if (finished.row.model == model) errors.add(finished.test.error);
  }
  return errors;
}

void require_known(const std::string& experiment,
                   const char* what,
                   const std::vector<std::string>& given,
                   const std::vector<std::string>& known) {
  for (const std::string& name : given) {
    require(std::find(known.begin(), known.end(), name) != known.end(),
            "reproduce {}: there is no {} '{}'{}; there are {}",
            experiment,
            what,
            name,
            suggestion(name, known),
            fmt::join(known, ", "));
  }
}

}  // namespace matapprox::app
