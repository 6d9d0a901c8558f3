#include "report/comparison_entry.hpp"

#include <fmt/format.h>

#include <new>

#include "matapprox/core/error.hpp"

namespace matapprox::report {
namespace {

/// Row of an entry whose method threw. Messages of methods begin with their name, which the row
/// already shows.
ComparisonRow failed_row(const ComparisonEntry& entry,
                         const NamedOptions& options,
                         const std::string& reason) {
  const std::string prefix = std::string(entry.method->name) + ": ";
  ComparisonRow row;
  row.method = entry.name;
  row.status = reason.starts_with(prefix) ? reason.substr(prefix.size()) : reason;
  row.options = options;
  row.failure = std::current_exception();
  return row;
}

/// Cost limit of a measurement after a fit; the minimum if the fit was interrupted.
double multiplications_to_measure(const RunResult& result, bool interrupted) {
  return interrupted ? 0 : result.multiplications;
}

}  // namespace

ComparisonEntry comparison_entry(const std::string& name) {
  if (name == kSymmetricSvd) {
    return {name, &find_method("truncated_svd"), {{"symmetric_storage", "true"}}};
  }
  return {name, &find_method(name), {}};
}

NamedOptions entry_options(const ComparisonEntry& entry,
                           const StorageBudget& budget,
                           const ComparisonOptions& options) {
  NamedOptions named = entry.fixed;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (entry.method->has_option(name)) named.emplace_back(name, value);
  };
  add("seed", fmt::format("{}", options.seed));
  if (options.rank > 0) {
    add("rank", fmt::format("{}", options.rank));
  } else if (options.target_error == 0) {
    add("budget", budget.text());
  }
  for (const MethodSetting& setting : options.settings) {
    if (setting.method != entry.method->name) continue;
    std::erase_if(named, [&](const auto& option) { return option.first == setting.option; });
    named.emplace_back(setting.option, setting.value);
  }
  return named;
}

ComparisonRow run_entry(const LinearOperator& A,
                        const ComparisonEntry& entry,
                        const NamedOptions& named,
                        const MatrixFacts& facts,
                        const ComparisonOptions& options,
                        const RunControl& control,
                        const ComparisonEvents& events) {
  if (control.interrupted()) {
    ComparisonRow row = failed_row(entry, named, "interrupted before it started");
    row.interrupted = true;
    return row;
  }
  if (events.started) events.started(entry.name);
  RunControl run_control = control;
  run_control.max_seconds = options.max_seconds;
  run_control.target_error = options.target_error;
  run_control.restart_clock();
  try {
    const RunResult result = run(*entry.method, A, named, options.precision, run_control);
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
    ComparisonRow row = comparison_row(entry.name, result, measured, interrupted || !measured);
    if (events.finished) events.finished(row, result);
    return row;
  } catch (const FileError&) {
    throw;  // from events.finished: a failure to write a result is not a failure of the method
  } catch (const Interrupted& stopped) {
    ComparisonRow row = failed_row(entry, named, stopped.what());
    row.interrupted = control.interrupted();
    return row;
  } catch (const Error& error) {
    return failed_row(entry, named, error.what());
  } catch (const std::bad_alloc&) {
    return failed_row(entry, named, "ran out of memory");
  }
}

}  // namespace matapprox::report
