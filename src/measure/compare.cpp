#include "matapprox/measure/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/methods/exact.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

constexpr const char* kSymmetricSvd = "truncated_svd_symmetric";

void check(const LinearOperator& A, const ComparisonOptions& options) {
  const Index largest = std::min(A.rows(), A.cols());
  require(options.rank == 0 || (options.rank >= 1 && options.rank <= largest),
          "compare: rank {} is outside 1..{}",
          options.rank,
          largest);
  require(options.target_error >= 0, "compare: target error {} is negative", options.target_error);
  const int bases = (options.rank != 0) + options.budget.is_set() + (options.target_error > 0);
  require(bases <= 1, "compare: give one of rank, budget and target error");
  for (const MethodSetting& setting : options.settings)
    find_method(setting.method).check({{setting.option, setting.value}});
}

/// Throws InvalidArgument for a method that is named twice and for settings without effect: those
/// of a method that does not run, and those that a later one replaces.
void check_effect(const ComparisonOptions& options, const std::vector<std::string>& chosen) {
  for (auto name = options.methods.begin(); name != options.methods.end(); ++name) {
    require(std::find(std::next(name), options.methods.end(), *name) == options.methods.end(),
            "compare: method {} is named twice",
            *name);
  }
  for (auto setting = options.settings.begin(); setting != options.settings.end(); ++setting) {
    const auto runs = [&](const std::string& name) {
      return compared_method(name).name == setting->method;
    };
    require(std::any_of(chosen.begin(), chosen.end(), runs),
            "compare: {}.{} is set, but {} is not among the methods that run",
            setting->method,
            setting->option,
            setting->method);
    const auto same = [&](const MethodSetting& other) {
      return other.method == setting->method && other.option == setting->option;
    };
    require(std::none_of(std::next(setting), options.settings.end(), same),
            "compare: {}.{} is set twice",
            setting->method,
            setting->option);
  }
}

std::vector<std::string> methods_to_run(const LinearOperator& A,
                                        const MatrixFacts& facts,
                                        const ComparisonOptions& options) {
  if (!options.methods.empty()) return options.methods;
  std::vector<std::string> names;
  for (const std::string& name : comparison_methods()) {
    if (name == "exact") continue;  // the first row, as_is
    if (name != kSymmetricSvd || (facts.symmetric && A.rows() > 1)) names.push_back(name);
  }
  return names;
}

/// True for entries in memory, few enough to examine each of them.
bool can_be_repacked(const LinearOperator& A) {
  constexpr double kFewEntries = 0x1p24;
  if (const SparseMatrix* sparse = sparse_values(A)) {
    return static_cast<double>(sparse->nonZeros()) <= kFewEntries;
  }
  const double entries = static_cast<double>(A.rows()) * static_cast<double>(A.cols());
  return has_entries_in_memory(A) && entries <= kFewEntries;
}

/// Bytes as a part of those of a dense matrix of doubles.
double share_of_doubles(const Storage& storage, Index rows, Index cols) {
  return static_cast<double>(storage.bytes) /
         (8 * static_cast<double>(rows) * static_cast<double>(cols));
}

/// Form and storage of the matrix as it is, and the operator whose products are timed.
struct StoredMatrix {
  std::string form;
  Storage storage;
  std::string precision = "double";
  std::optional<Approximation> packed{};
};

/// The smallest of the exact stores of A, or its storage in the operator.
StoredMatrix stored_matrix(const LinearOperator& A, const RunControl& control) {
  StoredMatrix stored{A.description(), {A.cost().stored_numbers, A.cost().stored_bytes}};
  if (!can_be_repacked(A) || control.should_stop()) return stored;
  Approximation packed = exact(A, {}, control);
  if (packed.storage().bytes >= stored.storage.bytes) return stored;
  stored.form = packed.summary.form;
  stored.storage = packed.storage();
  stored.precision = storage_precision(packed);
  stored.packed = std::move(packed);
  return stored;
}

ComparisonRow as_is_row(const LinearOperator& A,
                        const MeasureOptions& options,
                        const RunControl& control) {
  const StoredMatrix stored = stored_matrix(A, control);
  ComparisonRow row;
  row.method = "as_is";
  row.form = stored.form;
  row.storage = stored.storage;
  row.storage_precision = stored.precision;
  row.storage_share = share_of_doubles(stored.storage, A.rows(), A.cols());
  row.fit_seconds = 0.0;
  row.passes = 0.0;
  row.peak_memory_bytes = peak_memory_bytes();
  row.measurement = Measurement{};
  row.measurement->relative_error = 0.0;
  row.measurement->spectral_error_lower = 0.0;
  if (options.certificate) {
    Certificate& certificate = row.measurement->certificate.emplace();
    certificate.norm = options.certificate->norm;
    certificate.frobenius = CertifiedBound{};
    certificate.spectral = CertifiedBound{};
    certificate.relative = 0.0;
  }
  // kQuick does not time products that would take longer than the fits.
  constexpr double kLongProduct = 2e10;
  const bool quick = options.effort == MeasureEffort::kQuick;
  const LinearOperator& timed = stored.packed ? *stored.packed : A;
  const auto seconds = [&](Index columns) -> std::optional<double> {
    const double work = static_cast<double>(columns) * timed.cost().multiplications_per_apply;
    if (!options.time_products || (quick && work > kLongProduct)) return std::nullopt;
    return time_product(timed, columns, quick ? 0.05 : 0.3);
  };
  row.measurement->apply_seconds_1 = seconds(1);
  row.measurement->apply_seconds_64 = seconds(64);
  return row;
}

std::string basis_of(const ComparisonOptions& options, const StorageBudget& budget) {
  if (options.rank > 0) return fmt::format("rank {}", options.rank);
  if (options.target_error > 0)
    return fmt::format("least storage with relative error {:g}", options.target_error);
  switch (budget.unit) {
    case StorageBudget::Unit::kShare:
      return fmt::format("equal storage: {:g} % of the entries", 100 * budget.amount);
    case StorageBudget::Unit::kBytes:
      return fmt::format("equal storage: {:.0f} bytes", budget.amount);
    default:
      break;
  }
  return fmt::format("equal storage: {:.0f} numbers{}",
                     budget.amount,
                     options.budget.is_set() ? "" : ", what the Chord reference pattern stores");
}

/// Row of a method that threw. Messages of methods begin with their name, which the row already
/// shows.
ComparisonRow failed_row(const std::string& name,
                         const NamedOptions& options,
                         const std::string& reason) {
  const std::string prefix = std::string(compared_method(name).name) + ": ";
  ComparisonRow row;
  row.method = name;
  row.status = reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
  row.options = options;
  row.failure = std::current_exception();
  return row;
}

/// Cost limit of a measurement after a fit; the minimum if the fit was interrupted.
double multiplications_to_measure(const RunResult& result, bool interrupted) {
  return interrupted ? 0 : result.multiplications;
}

/// Options of a run: those that the row's name implies, the seed, the size, and the settings.
NamedOptions named_options(const std::string& name, const ComparisonOptions& options) {
  const Method& method = compared_method(name);
  NamedOptions named;
  if (name == kSymmetricSvd) named.emplace_back("symmetric_storage", "true");
  const auto add = [&](const std::string& option, const std::string& value) {
    if (method.has_option(option)) named.emplace_back(option, value);
  };
  add("seed", fmt::format("{}", options.seed));
  if (options.rank > 0) {
    add("rank", fmt::format("{}", options.rank));
  } else if (options.target_error == 0 && options.budget.is_set()) {
    add("budget", options.budget.text());
  }
  for (const MethodSetting& setting : options.settings) {
    if (setting.method == method.name) {
      named = with_option(std::move(named), setting.option, setting.value);
    }
  }
  return named;
}

}  // namespace

bool ComparisonRow::reaches(double target) const {
  if (!ok()) return false;
  const bool is_measured = measurement && measurement->relative_error;
  // The method's own error and the measured one may differ by rounding.
  const bool by_measure = is_measured && *measurement->relative_error <= target * (1 + 1e-12);
  if (is_measured && measurement->error_is_exact) return by_measure;
  return by_measure || termination == Termination::kTargetReached;
}

bool Comparison::interrupted() const {
  return std::any_of(
      rows.begin(), rows.end(), [](const ComparisonRow& row) { return row.interrupted; });
}

bool Comparison::any_ok() const {
  return std::any_of(rows.begin(), rows.end(), [](const ComparisonRow& row) {
    return row.ok() && row.method != "as_is";
  });
}

std::vector<std::string> comparison_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods()) {
    names.emplace_back(method.name);
    if (method.name == "truncated_svd") names.emplace_back(kSymmetricSvd);
  }
  return names;
}

ComparisonRow comparison_row(const std::string& name,
                             const RunResult& result,
                             const std::optional<Measurement>& measurement,
                             bool interrupted) {
  const Approximation& approximation = result.approximation;
  const Summary& summary = approximation.summary;
  ComparisonRow row;
  row.method = name;
  for (const OptionText& option : summary.options)
    row.options.emplace_back(option.name, option.value);
  row.form = summary.form;
  if (summary.rank > 0) row.rank = summary.rank;
  row.storage = approximation.storage();
  row.storage_precision = storage_precision(approximation);
  row.storage_share = share_of_doubles(*row.storage, approximation.rows(), approximation.cols());
  row.measurement = measurement;
  row.fit_seconds = result.fit_seconds;
  row.passes = result.passes;
  if (result.peak_memory_bytes > 0) row.peak_memory_bytes = result.peak_memory_bytes;
  row.termination = summary.termination;
  row.message = summary.message;
  row.interrupted = interrupted;
  return row;
}

const Method& compared_method(const std::string& name) {
  return find_method(name == kSymmetricSvd ? "truncated_svd" : name);
}

ComparisonRow compare_one(const LinearOperator& A,
                          const std::string& name,
                          const MatrixFacts& facts,
                          const ComparisonOptions& options,
                          const RunControl& control,
                          const ComparisonEvents& events) {
  const NamedOptions named = named_options(name, options);
  if (control.interrupted()) {
    ComparisonRow row = failed_row(name, named, "interrupted before it started");
    row.interrupted = true;
    return row;
  }
  if (events.started) events.started(name);
  RunControl run_control = control;
  run_control.max_seconds = options.max_seconds;
  run_control.target_error = options.target_error;
  run_control.restart_clock();
  try {
    const RunResult result = run(compared_method(name), A, named, options.precision, run_control);
    const bool interrupted = result.approximation.summary.termination == Termination::kInterrupted;
    RunControl measuring;
    // The best point of an interrupted fit is measured as fast as possible; a request to stop that
    // arrives only now ends the measurement.
    if (!control.interrupted()) measuring.stop = control.stop;
    MeasureOptions affordable =
        within_fit(options.measure, multiplications_to_measure(result, interrupted));
    if (interrupted) affordable.certificate.reset();
    std::optional<Measurement> measured;
    try {
      measured = measure(A, result.approximation, facts, affordable, measuring);
    } catch (const Interrupted&) {  // the fit is kept, without its error
    }
    ComparisonRow row = comparison_row(name, result, measured, interrupted || !measured);
    if (events.finished) events.finished(row, result);
    return row;
  } catch (const FileError&) {
    throw;  // from events.finished: a failure to write a result is not a failure of the method
  } catch (const Interrupted& stopped) {
    ComparisonRow row = failed_row(name, named, stopped.what());
    row.interrupted = control.interrupted();
    return row;
  } catch (const Error& error) {
    return failed_row(name, named, error.what());
  } catch (const std::bad_alloc&) {
    return failed_row(name, named, "ran out of memory");
  }
}

Comparison compare(const LinearOperator& A,
                   const ComparisonOptions& options,
                   const RunControl& control,
                   const ComparisonEvents& events) {
  check(A, options);
  Comparison comparison;
  comparison.description = A.description();
  comparison.facts = describe(A, options.measure, control);
  comparison.seed = options.seed;
  comparison.threads = threads();
  const std::vector<std::string> chosen = methods_to_run(A, comparison.facts, options);
  check_effect(options, chosen);

  ComparisonOptions of_rows = options;
  if (!options.budget.is_set())
    of_rows.budget = default_budget(A.rows(), A.cols(), options.precision);
  of_rows.budget.precision = options.precision;
  comparison.basis = basis_of(options, of_rows.budget);
  {
    const StopScope scope(control, "compare");
    comparison.rows.push_back(as_is_row(A, options.measure, control));
  }
  for (const std::string& name : chosen) {
    comparison.rows.push_back(compare_one(A, name, comparison.facts, of_rows, control, events));
  }
  return comparison;
}

}  // namespace matapprox
