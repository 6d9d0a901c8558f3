#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "matapprox/training/model_file.hpp"
#include "matapprox/training/trainer.hpp"
#include "report/json.hpp"

namespace matapprox::app {

/// One training run of an experiment: what is trained, and where its result stands in the table.
struct ExperimentRow {
  std::string task;
  std::string model;
  std::string head;
  Index length = 0;
  std::uint64_t seed = 1;
  training::SavedModel described;  ///< before its first step
  /// Test error that the paper prints, in percent; negative: none.
  double published = -1;
  Index fold = -1;  ///< of a cross-validation; negative: none
  /// A row before this one whose best parameters this one begins with, where name and size are the
  /// same; null: none.
  std::shared_ptr<const ExperimentRow> begins_with{};

  /// "adding-psf-cls-128-seed1", with "-fold0" behind it where there is one, also of its files.
  std::string name() const;
};

/// A row that is done.
struct FinishedRow {
  ExperimentRow row;
  training::Evaluation test;
  std::vector<tasks::Baseline> baselines;
  Index parameters = 0;
  double seconds = 0;          ///< of training: one thread, or a GPU and all threads
  std::string device = "cpu";  ///< that took the last steps of the training: cpu, cuda
  bool reused = false;
};

struct ExperimentOptions {
  std::string folder;         ///< where finished rows and checkpoints are kept
  Index test_samples = 5000;  ///< of the test at the end of a row
  std::string data_sha256;    ///< of the file that rows with a data_path() read; empty: none does
  /// Moves the steps of a row to a GPU, or returns why they stay on the CPU; throws NotAvailable
  /// where they may not. Empty: all rows stay on the CPU.
  std::function<std::string(training::Trainer&)> use_gpu;
};

/// Rows that have to be trained.
struct PlannedRows {
  std::size_t rows = 0;
  std::size_t on_gpu = 0;
  double seconds = 0;  ///< that this may take
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

/// Trains the rows that the folder does not have, as many side by side as there are threads, each
/// in one thread, so that their numbers do not depend on it. Rows on a GPU come before, one after
/// another, with the validations of each in all threads. NAME.h5 and NAME.json are written when a
/// row is done; NAME.unfinished.h5 is its checkpoint, from which an interrupted row goes on to the
/// same bits. Both are good for either device, whose numbers agree to rounding. A cached row with
/// other settings or of another version is replaced. Rows that begin with another one come after
/// all that do not. Memory: the largest models of the rows that run side by side. Throws
/// InvalidArgument for two rows of one name, FileError, NumericalError where a loss is not finite
/// (the other rows are made and stay), NotAvailable of use_gpu before any row is trained.
ExperimentResult run_experiment(const std::vector<ExperimentRow>& rows,
                                const ExperimentOptions& options,
                                const std::atomic<bool>& stop,
                                const ExperimentEvents& events);

report::Json to_json(const FinishedRow& finished);

/// "7 of 9 rows are to be trained, about 3 min, on 2 threads; Ctrl-C keeps what is done"; `unit` is
/// what a row is called.
std::string plan_text(const PlannedRows& planned, std::size_t all, const char* unit);

/// SHA-256 of a file, for ExperimentOptions::data_sha256. Throws FileError.
std::string file_sha256(const std::string& path);

}  // namespace matapprox::app
