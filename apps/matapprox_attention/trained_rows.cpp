#include "trained_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "command_line/interrupt.hpp"
#include "command_line/invocation.hpp"
#include "command_line/output.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "report/gnuplot.hpp"
#include "reproduce/matrix_file.hpp"
#include "run_flags.hpp"

namespace matapprox::app {
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
  RowsReport(bool quiet, const std::vector<ExperimentRow>& rows, const RowWords& words)
      : quiet_(quiet), words_(words), line_(quiet) {
    for (const ExperimentRow& row : rows) names_[row.name()] = words.name(row);
  }

  ExperimentEvents events() {
    ExperimentEvents events;
    events.planned = [this](const PlannedRows& planned) {
      planned_ = planned.rows;
      note(quiet_, plan_text(planned, names_.size(), words_.rows));
    };
    events.progress = [this](const std::string& row, double fraction) {
      running_[row] = fraction;
      line_.show([this] { return text(); });
    };
    events.finished = [this](const FinishedRow& row) {
      ++done_;
      end(row.row.name(), fmt::format("{:.2f} %, {:.3g} s", 100 * row.test.error, row.seconds));
    };
    events.failed = [this](const std::string& row) { end(row, "failed"); };
    events.note = [this](const std::string& text) { note(quiet_, text); };
    return events;
  }

 private:
  void end(const std::string& row, const std::string& result) {
    running_.erase(row);
    line_.clear();
    note(quiet_, fmt::format("{}: {}", names_.at(row), result));
  }
  std::string text() const {
    std::string text = fmt::format("{} of {} {} done", done_, planned_, words_.rows);
    for (const auto& [row, part] : running_)
      text += fmt::format(", {} {:.0f} %", names_.at(row), 100 * part);
    return text;
  }

  bool quiet_;
  const RowWords& words_;
  std::map<std::string, std::string> names_;  ///< names in messages, by the name of the row
  ProgressLine line_;
  std::map<std::string, double> running_;
  std::size_t planned_ = 0;
  std::size_t done_ = 0;
};

}  // namespace

ExperimentResult train_rows(const std::vector<ExperimentRow>& rows,
                            ExperimentOptions options,
                            const DeviceOptions& device,
                            bool quiet,
                            const RowWords& words) {
  if (device.wants_gpu()) {
    options.use_gpu = [&device](training::Trainer& trainer) {
      return device.move_to_gpu([&] { trainer.use_gpu(); });
    };
  }
  RowsReport report(quiet, rows, words);
  return run_experiment(rows, options, catch_interrupts(), report.events());
}

int report_interrupt(bool quiet,
                     std::size_t finished,
                     std::size_t all,
                     const char* rows,
                     const std::string& folder) {
  note(quiet,
       fmt::format("interrupted; {} of {} {} are finished and saved in {}: the same command "
                   "continues from there",
                   finished,
                   all,
                   rows,
                   folder));
  return kInterrupted;
}

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
  sub.add_option(
         "--test-samples",
         options_.test_samples,
         "Number of test samples of each row, and maximum number of its validation samples [5000]")
      .range(1)
      .group("Rows");
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

int TrainedRows::run(const std::vector<ExperimentRow>& rows, const ShowRows& show) const {
  common_.apply();
  device_.check();
  require(!rows.empty(), "reproduce {}: no rows are selected", name_);
  const std::string data = data_of(rows);
  FilePlan files = json_.files();
  files.reads(data);
  charts_.prepare(files);
  files.makes_folder("-o", options_.folder);
  prepare_folder(options_.folder);
  ExperimentOptions options = options_;
  if (!data.empty()) options.data_sha256 = reproduction::file_sha256(data);
  const bool quiet = common_.quiet();
  const ExperimentResult result =
      train_rows(with_samples(rows, options.test_samples),
                 options,
                 device_,
                 quiet,
                 {"rows", [](const ExperimentRow& row) { return row.name(); }});

  const ShownRows shown = result.rows.empty() ? ShownRows() : show(result.rows);
  report::Json json = report::document_head(rows.front().seed, threads());
  json["experiment"] = name_;
  json["rows"] = report::Json::array();
  for (const FinishedRow& row : result.rows) json["rows"].push_back(to_json(row));
  json.update(shown.more);
  json_.write(json);
  draw_until_stopped([&] { charts_.write(shown.charts); });
  if (!json_.replaces_text() && !result.rows.empty()) write_stdout(shown.text);
  if (!result.interrupted && !interrupt_requested()) return kDone;
  return report_interrupt(quiet, result.rows.size(), rows.size(), "rows", options_.folder);
}

}  // namespace matapprox::app
