#include "reproduce/reproduction.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <mutex>
#include <new>
#include <numeric>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "reproduce/matrix_file.hpp"
#include "reproduce/row.hpp"

namespace matapprox {

namespace reproduction {
namespace {

/// User and system time of this process so far.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One call of `reproduce`: finds the files, takes cached rows, works on the rest.
class Work {
 public:
  Work(const ReproductionOptions& options,
       const RunControl& control,
       const ReproductionEvents& events)
      : options_(options), control_(control), events_(events) {}

  std::vector<ReproducedRow> run();
  bool interrupted() const { return interrupted_; }

 private:
  void find_files();
  void take_cached();
  std::vector<std::size_t> still_to_do() const;
  void start(const ReproducedRow& row);
  void work_on(std::size_t i);
  RowResult fit_and_measure(ReproducedRow& row, const LoadedMatrix& loaded);
  std::optional<SavedFit> checkpoint_of(const ReproducedRow& row, const LoadedMatrix& loaded);
  void finish(ReproducedRow& row, const LoadedMatrix& loaded, const RowResult& result);
  void give_up(ReproducedRow& row, const std::string& reason);
  void load_files();
  void note(const std::string& text) const {
    if (events_.note) events_.note(text);
  }

  const ReproductionOptions& options_;
  const RunControl& control_;
  const ReproductionEvents& events_;
  std::vector<ReproducedRow> rows_;
  std::vector<std::optional<LoadedMatrix>> loaded_;
  std::mutex mutex_;  // guards events_ and HDF5, which allow one thread at a time
  bool interrupted_ = false;
};

void Work::find_files() {
  check_folder(options_.matrices);
  std::size_t found = 0;
  for (ReproducedRow& row : rows_) {
    const auto path = find_file(options_.matrices, row.paper);
    row.missing = !path;
    if (!path) {
      row.status = fmt::format("missing: no {} in {}", row.paper.file, options_.matrices);
      continue;
    }
    ++found;
    row.path = *path;
    row.sha256 = file_sha256(*path);
    row.sha256_is_known = is_known_sha256(row.paper, row.sha256);
    if (!row.sha256_is_known) {
      note(
          fmt::format("{}: its SHA-256 is not that of the paper's file; the file is used, but the "
                      "printed errors may be those of another matrix",
                      *path));
    }
  }
  if (found > 0) return;
  throw FileError(
      fmt::format("{}: holds none of the {} rows requested (the first: {}); scripts/fetch-matrices "
                  "downloads them",
                  options_.matrices,
                  rows_.size(),
                  rows_.front().paper.file));
}

void Work::take_cached() {
  if (options_.folder.empty()) return;
  for (ReproducedRow& row : rows_) {
    if (row.missing) continue;
    std::string reason;
    if (take_cached_row(row, options_, reason) || reason.empty()) continue;
    note(fmt::format("{}: the row saved in {} is not used and will be replaced: {}",
                     row.paper.name,
                     options_.folder,
                     reason));
  }
}

std::vector<std::size_t> Work::still_to_do() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].ok() && !rows_[i].reused) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    return rows_[a].paper.n > rows_[b].paper.n;
  });
  return order;
}

/// Loads all files before the first fit: readers may fork, which is best done with a single thread.
void Work::load_files() {
  for (const std::size_t i : still_to_do()) {
    try {
      loaded_[i] = load_file(rows_[i].path);
      const LinearOperator& A = *loaded_[i]->matrix;
      if (A.rows() == A.cols()) continue;
      throw FileError(fmt::format("{}: {} x {}, not square", rows_[i].path, A.rows(), A.cols()));
    } catch (const Error& error) {
      rows_[i].status = error.what();
      rows_[i].failure = std::current_exception();
    }
  }
}

void Work::start(const ReproducedRow& row) {
  const std::lock_guard lock(mutex_);
  if (events_.started) events_.started(row.paper.name);
}

void Work::finish(ReproducedRow& row, const LoadedMatrix& loaded, const RowResult& result) {
  const std::lock_guard lock(mutex_);
  if (!options_.folder.empty()) cache_row(row, loaded, result, options_);
  if (events_.finished) events_.finished(row);
}

void Work::give_up(ReproducedRow& row, const std::string& reason) {
  const std::lock_guard lock(mutex_);
  row.status = reason;
  if (events_.finished) events_.finished(row);
}

/// Continues from the row's checkpoint, if it has one, and writes the next.
RowResult Work::fit_and_measure(ReproducedRow& row, const LoadedMatrix& loaded) {
  const std::optional<SavedFit> earlier = checkpoint_of(row, loaded);
  const double seconds_before = earlier ? earlier->record.fit_seconds : 0;
  RunControl control;
  control.stop = control_.stop;
  if (earlier) control.resume = &earlier->record.resume;
  control.progress = [&](const Progress& now) {
    const std::lock_guard lock(mutex_);
    if (events_.progress) events_.progress(row.paper.name, now);
  };
  if (!options_.folder.empty()) {
    control.checkpoint = [&](const Approximation& best, const ResumeState& state) {
      const std::lock_guard lock(mutex_);
      keep_checkpoint(row, loaded, best, state, seconds_before + control.seconds(), options_);
    };
  }
  RowResult result = reproduce_row(row, *loaded.matrix, options_, control);
  row.seconds += seconds_before;
  return result;
}

std::optional<SavedFit> Work::checkpoint_of(const ReproducedRow& row, const LoadedMatrix& loaded) {
  if (options_.folder.empty()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  std::string reason;
  auto saved = take_checkpoint(row, loaded, options_, reason);
  if (!reason.empty()) note(reason + "; the fit starts again");
  return saved;
}

void Work::work_on(std::size_t i) {
  ReproducedRow& row = rows_[i];
  const std::string unfinished = "not finished: interrupted";
  if (control_.interrupted()) {
    row.status = unfinished;
    return;
  }
  start(row);
  std::optional<RowResult> result;
  try {
    result = fit_and_measure(row, *loaded_[i]);
  } catch (const Interrupted&) {
    return give_up(row, unfinished);
  } catch (const Error& error) {
    row.failure = std::current_exception();
    return give_up(row, error.what());
  } catch (const std::bad_alloc&) {
    row.failure = std::current_exception();
    return give_up(row, "out of memory");
  }
  // The error of a stopped fit does not show what the whole fit would have reached.
  if (row.termination == Termination::kInterrupted) return give_up(row, unfinished);
  finish(row, *loaded_[i], *result);
}

std::vector<ReproducedRow> Work::run() {
  for (const PaperMatrix& matrix : select_matrices(options_.table, options_.rows)) {
    rows_.emplace_back().paper = matrix;
  }
  find_files();
  take_cached();
  loaded_.resize(rows_.size());
  load_files();
  const std::vector<std::size_t> order = still_to_do();
  if (events_.planned) events_.planned(order.size());
  parallel_for(static_cast<Index>(order.size()),
               [&](Index i) { work_on(order[static_cast<std::size_t>(i)]); });
  interrupted_ = control_.interrupted() &&
                 std::any_of(rows_.begin(), rows_.end(), [](const ReproducedRow& row) {
                   return !row.ok() && !row.missing;
                 });
  return std::move(rows_);
}

}  // namespace
}  // namespace reproduction

std::string ReproducedRow::winner_then() const {
  const auto tsvd_error = paper.paper_tsvd();
  const auto sf_error = paper.paper_sf();
  if (!tsvd_error || !sf_error) return {};
  return *sf_error < *tsvd_error ? "SF" : "TSVD";
}

std::string ReproducedRow::winner_now() const { return chord_error < tsvd.error ? "SF" : "TSVD"; }

std::optional<bool> ReproducedRow::within_paper() const {
  if (!paper.paper_sf()) return std::nullopt;
  return chord_error <= *paper.paper_sf();
}

std::optional<bool> ReproducedRow::tsvd_as_printed() const {
  if (paper.table() != PaperTable::kTable1 || paper.printed_tsvd.empty()) return std::nullopt;
  return fmt::format("{:.2e}", tsvd.error) == paper.printed_tsvd;
}

NamedOptions ReproductionOptions::chord() const {
  NamedOptions named;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(named, [&](const auto& option) { return option.first == name; });
    named.emplace_back(name, value);
  };
  set("effort", effort);
  set("pattern", pattern);
  set("seed", fmt::format("{}", seed));
  for (const auto& [name, value] : settings) set(name, value);
  return named;
}

std::vector<const ReproducedRow*> Reproduction::finished() const {
  std::vector<const ReproducedRow*> result;
  for (const ReproducedRow& row : rows) {
    if (row.ok()) result.push_back(&row);
  }
  return result;
}

std::vector<const ReproducedRow*> Reproduction::unfinished() const {
  std::vector<const ReproducedRow*> result;
  for (const ReproducedRow& row : rows) {
    if (!row.ok()) result.push_back(&row);
  }
  return result;
}

Reproduction reproduce(const ReproductionOptions& options,
                       const RunControl& control,
                       const ReproductionEvents& events) {
  find_method("chord").check(options.chord());
  const bool fixed = std::any_of(options.settings.begin(),
                                 options.settings.end(),
                                 [](const auto& setting) { return setting.first == "pattern"; });
  require(!fixed || options.other_patterns.empty(),
          "reproduce: a pattern among the settings and other patterns exclude each other");
  for (const std::string& pattern : options.other_patterns) {
    ReproductionOptions other = options;
    other.pattern = pattern;
    find_method("chord").check(other.chord());
  }
  Reproduction result;
  result.options = options;
  result.threads = threads();
  const double cpu_before = reproduction::cpu_seconds();
  const auto before = std::chrono::steady_clock::now();
  reproduction::Work work(options, control, events);
  result.rows = work.run();
  result.interrupted = work.interrupted();
  result.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
  result.cpu_seconds = reproduction::cpu_seconds() - cpu_before;
  return result;
}

}  // namespace matapprox
