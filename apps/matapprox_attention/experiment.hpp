#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "matapprox/attention/training/model_file.hpp"
#include "matapprox/attention/training/trainer.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// One training run of an experiment: what is trained, and the position of its result in the table.
struct ExperimentRow {
  std::string task;
  std::string model;
  std::string head;
  Index length = 0;
  std::uint64_t seed = 1;
  training::SavedModel described;  ///< state before its first step
  /// Published test error in percent; negative: none.
  double published = -1;
  Index fold = -1;  ///< fold of a cross-validation; negative: none
  /// An earlier row whose best parameters initialize this one, where name and size are the same;
  /// null: none.
  std::shared_ptr<const ExperimentRow> begins_with{};

  /// Name of the row and of its files: "adding-psf-cls-128-seed1", with "-fold0" appended if it has
  /// a fold.
  std::string name() const;
};

/// A finished row.
struct FinishedRow {
  ExperimentRow row;
  training::Evaluation test;
  std::vector<tasks::Baseline> baselines;
  Index parameters = 0;
  double seconds = 0;          ///< training time: on one thread, or on a GPU with all threads
  std::string device = "cpu";  ///< device of the last training steps: cpu, cuda
  bool reused = false;
};

struct ExperimentOptions {
  std::string folder;         ///< folder of finished rows and checkpoints
  Index test_samples = 5000;  ///< number of samples in the test at the end of a row
  std::string data_sha256;    ///< reproduction::file_sha256() of the file that rows with a
                              ///< data_path() read; empty: none reads one
  /// Moves the steps of a row to a GPU, or returns the reason why they stay on the CPU; throws
  /// NotAvailable where they must not stay there. Empty: all rows stay on the CPU.
  std::function<std::string(training::Trainer&)> use_gpu;
};

/// Rows that still have to be trained.
struct PlannedRows {
  std::size_t rows = 0;
  std::size_t on_gpu = 0;
  double seconds = 0;  ///< estimated run time
};

struct ExperimentEvents {
  std::function<void(const PlannedRows& planned)> planned;
  std::function<void(const std::string& row, double fraction)> progress;
  std::function<void(const FinishedRow& row)> finished;
  std::function<void(const std::string& row)> failed;
  std::function<void(const std::string& text)> note;
};

struct ExperimentResult {
  std::vector<FinishedRow> rows;
  bool interrupted = false;
};

/// Trains the rows that are missing in the folder. As many rows run side by side as there are
/// threads, each in one thread, so that their numbers do not depend on the number of threads. Rows
/// on a GPU come first, one after another, and validate in all threads. NAME.h5 and NAME.json are
/// written when a row is finished; NAME.unfinished.h5 is its checkpoint, from which an interrupted
/// row continues to the same bits. Both are valid for either device, whose numbers agree to
/// rounding. A cached row with other settings or of another version is replaced. Rows that begin
/// with another one come last. Memory: the largest models of the rows that run side by side. Throws
/// InvalidArgument for two rows of one name, FileError, NumericalError where a loss is not finite
/// (the other rows are still trained and stored), and NotAvailable of use_gpu before any row is
/// trained.
ExperimentResult run_experiment(const std::vector<ExperimentRow>& rows,
                                const ExperimentOptions& options,
                                const std::atomic<bool>& stop,
                                const ExperimentEvents& events);

report::Json to_json(const FinishedRow& finished);

/// "7 of 9 rows are to be trained, about 3 min, on 2 threads; Ctrl-C keeps what is done"; `unit` is
/// the word for a row.
std::string plan_text(const PlannedRows& planned, std::size_t all, const char* unit);

}  // namespace matapprox::app
