#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <limits>
#include <optional>

#include "matapprox/best/best.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "matapprox/measure/compare.hpp"
#include "matapprox/measure/run.hpp"
#include "matapprox/methods/chord.hpp"
#include "python.hpp"

namespace matapprox::python {
namespace {

/// Interval of Python's signal handlers during a fit, and shortest interval between callbacks.
constexpr std::chrono::milliseconds kPollInterval{50};

/// Options of a long computation from Python. `progress` is None or is called with (iteration,
/// relative error, fraction done), where unknown values are None.
struct FitControls {
  nb::object progress;
  double max_seconds = 0;
  double target_error = 0;
};

nb::object known(double value) { return value < 0 ? nb::none() : nb::cast(value); }

/// Calls Python at most once per interval. An exception of the callback stops the work and is kept.
class ProgressCallback {
 public:
  ProgressCallback(nb::object callback, std::atomic<bool>& stop)
      : callback_(std::move(callback)), stop_(stop) {}

  void operator()(const Progress& now) {
    const auto time = std::chrono::steady_clock::now();
    if (stop_ || time < next_) return;
    next_ = time + kPollInterval;
    const Locked locked;
    try {
      callback_(now.iteration, known(now.relative_error), known(now.fraction_done));
    } catch (...) {
      failure_ = std::current_exception();
      stop_ = true;
    }
  }
  const std::exception_ptr& failure() const { return failure_; }

 private:
  nb::object callback_;
  std::atomic<bool>& stop_;
  std::chrono::steady_clock::time_point next_{};
  std::exception_ptr failure_;
};

/// Raises KeyboardInterrupt in the Python code, if any, that this thread is running. Code that
/// waits for something outside of Python is not interrupted.
void interrupt_python(unsigned long thread) {
  if (thread != 0) PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

/// The result of the work and, if it was interrupted, the exception of the signal handler.
template <class Result>
struct Outcome {
  std::optional<Result> result;
  nb::object interrupt = nb::none();
};

/// Runs `work` in a separate thread without the interpreter's lock; meanwhile this thread lets
/// Python handle signals. Rethrows the exception of a callback, else that of the work.
template <class Result>
Outcome<Result> in_thread(const FitControls& controls,
                          const std::function<Result(const RunControl& control)>& work) {
  std::atomic<bool> stop{false};
  Running counts(stop);
  ProgressCallback callback(controls.progress, stop);
  RunControl control;
  control.stop = &stop;
  control.max_seconds = controls.max_seconds;
  control.target_error = controls.target_error;
  if (!controls.progress.is_none()) {
    control.progress = [&](const Progress& now) { callback(now); };
  }
  std::atomic<unsigned long> worker{0};
  std::future<Result> running = std::async(std::launch::async, [&] {
    const PartOfRun part;
    worker = PyThread_get_thread_ident();
    return work(control);
  });
  Outcome<Result> outcome;
  bool waiting = true;
  bool forced = false;
  while (waiting) {
    {
      const Unlocked unlocked;
      waiting = running.wait_for(kPollInterval) != std::future_status::ready;
    }
    if (PyErr_CheckSignals() == 0) continue;
    // The first of several signals is reported; the second interrupts a running callback or
    // operator.
    nb::python_error raised;
    if (outcome.interrupt.is_none()) {
      outcome.interrupt = nb::borrow(raised.value());
    } else if (waiting) {
      interrupt_python(worker);
      forced = true;
    }
    stop = true;
  }
  counts.finish();
  try {
    outcome.result = running.get();
  } catch (const std::exception&) {
    if (callback.failure() && !forced) std::rethrow_exception(callback.failure());
    if (outcome.interrupt.is_none()) throw;
  }
  if (callback.failure() && !forced) std::rethrow_exception(callback.failure());
  return outcome;
}

template <class Result>
nb::tuple as_tuple(const Outcome<Result>& outcome,
                   const std::function<nb::object(const Result&)>& value) {
  return nb::make_tuple(outcome.result ? value(*outcome.result) : nb::none(), outcome.interrupt);
}

/// The starting point of a fit, and its checkpoint file.
struct Continuation {
  const ApproximationHandle* warm_start = nullptr;
  std::string checkpoint;  ///< a file; empty for none
  bool resume = false;     ///< resume from that file
};

Fit fit_of(const Method& method, const NamedOptions& options, const Continuation& continuation) {
  if (continuation.warm_start == nullptr) {
    return [&](const LinearOperator& A, const RunControl& control) {
      return method.run(A, options, control);
    };
  }
  method.check(options);
  const ChordOptions started = warm_started(options_from<ChordOptions>(options),
                                            *continuation.warm_start->approximation,
                                            "chord: warm_start");
  return [started](const LinearOperator& A, const RunControl& control) {
    return chord(A, started, control);
  };
}

/// Runs the fit with checkpoints in a file, which holds the result at the end.
RunResult run_with_checkpoints(const Fit& fit,
                               const Method& method,
                               const LoadedMatrix& input,
                               const NamedOptions& options,
                               Precision precision,
                               const Continuation& continuation,
                               RunControl control) {
  const std::string& path = continuation.checkpoint;
  SavedRecord record;
  if (continuation.resume) {
    const SavedFit previous = load_checkpoint(path, method, options, precision);
    refuse_other_matrix(path, previous, input);
    record.resume = previous.record.resume;
    record.fit_seconds = previous.record.fit_seconds;
  }
  const ResumeState resumed = record.resume;
  const double earlier = record.fit_seconds;
  record.provenance = input.provenance;
  if (continuation.resume) control.resume = &resumed;
  control.checkpoint = [&](const Approximation& best, const ResumeState& state) {
    record.interrupted = true;
    record.resume = state;
    record.fit_seconds = earlier + control.seconds();
    save(path,
         Approximation(
             round_factors(best.factors(), precision), best.summary, best.symmetrized(), precision),
         record);
    record.resume = {};
  };
  RunResult result = run(fit, *input.matrix, precision, control);
  result.fit_seconds += earlier;
  const Termination end = result.approximation.summary.termination;
  if (end == Termination::kInterrupted || end == Termination::kMaxSeconds) return result;
  record.interrupted = false;
  record.resume = {};
  record.fit_seconds = result.fit_seconds;
  save(path, result.approximation, record);
  return result;
}

/// Returns ((approximation, seconds, passes) or None, interrupt or None).
nb::tuple fit(const Handle& A,
              const std::string& method,
              const NamedOptions& options,
              const std::string& precision,
              const Continuation& continuation,
              const FitControls& controls) {
  const auto stored = enum_of<Precision>("precision", precision);
  const auto outcome = in_thread<RunResult>(controls, [&](const RunControl& control) {
    const Method& chosen = find_method(method);
    if (continuation.warm_start == nullptr && continuation.checkpoint.empty()) {
      return run(chosen, *A.matrix, options, stored, control);
    }
    const Fit goes_on = fit_of(chosen, options, continuation);
    if (continuation.checkpoint.empty()) return run(goes_on, *A.matrix, stored, control);
    LoadedMatrix input{A.matrix, {}, {}};
    input.provenance = {"array in Python", "matrix", A.matrix->rows(), A.matrix->cols(), {}};
    input.provenance.fingerprint = fingerprint(*A.matrix);
    return run_with_checkpoints(goes_on, chosen, input, options, stored, continuation, control);
  });
  return as_tuple<RunResult>(outcome, [](const RunResult& result) -> nb::object {
    return nb::make_tuple(handle_of(result.approximation), result.fit_seconds, result.passes);
  });
}

nb::dict candidate_dict(const BestCandidate& candidate) {
  nb::dict row;
  row["name"] = candidate.name;
  row["method"] = candidate.method;
  row["predicted_error"] = candidate.predicted_error;
  row["relative_error"] = candidate.relative_error;
  row["error_is_exact"] = candidate.error_is_exact;
  row["certified_error"] = candidate.certified_error;
  row["bytes"] = candidate.storage ? nb::cast(candidate.storage->bytes) : nb::none();
  row["seconds"] = candidate.seconds;
  row["chosen"] = candidate.chosen;
  row["verdict"] = candidate.verdict;
  return row;
}

nb::tuple best_of(const Handle& A, const NamedOptions& options, const FitControls& controls) {
  check_names("best", options, list_options(BestOptions{}));
  const auto chosen = options_from<BestOptions>(options);
  const auto outcome = in_thread<BestResult>(
      controls, [&](const RunControl& control) { return best(*A.matrix, chosen, control); });
  return as_tuple<BestResult>(outcome, [](const BestResult& result) -> nb::object {
    nb::list candidates;
    for (const BestCandidate& candidate : result.candidates)
      candidates.append(candidate_dict(candidate));
    return nb::make_tuple(handle_of(result.approximation),
                          result.seconds,
                          result.passes,
                          result.measurement,
                          candidates);
  });
}

nb::tuple measure_error(const Handle& A,
                        const Handle& B,
                        const std::string& effort,
                        std::optional<double> confidence,
                        std::uint64_t seed,
                        const FitControls& controls) {
  MeasureOptions options;
  options.effort = enum_of<MeasureEffort>("measure: effort", effort);
  options.seed = seed;
  options.time_products = options.effort == MeasureEffort::kFull;
  if (confidence) {
    options.certificate.emplace();
    options.certificate->confidence = *confidence;
    options.certificate->seed = seed;
  }
  const auto outcome = in_thread<Measurement>(controls, [&](const RunControl& control) {
    return measure(*A.matrix, *B.matrix, describe(*A.matrix, options, control), options, control);
  });
  return as_tuple<Measurement>(outcome, [](const Measurement& found) { return nb::cast(found); });
}

/// Returns a row with the keys of the program's JSON.
nb::dict row_dict(const ComparisonRow& row) {
  nb::dict result;
  result["method"] = row.method;
  result["status"] = row.status;
  nb::dict options;
  for (const auto& [name, value] : row.options) options[name.c_str()] = value;
  result["options"] = options;
  result["form"] = row.form;
  result["rank"] = row.rank;
  result["stored_numbers"] = row.storage ? nb::cast(row.storage->numbers) : nb::none();
  result["stored_bytes"] = row.storage ? nb::cast(row.storage->bytes) : nb::none();
  result["storage_share"] = row.storage_share;
  result["storage_precision"] = row.storage_precision;
  const auto measured = [&](auto member) -> nb::object {
    return row.measurement ? nb::cast((*row.measurement).*member) : nb::none();
  };
  result["error_frobenius"] = measured(&Measurement::error_frobenius);
  result["relative_error"] = measured(&Measurement::relative_error);
  result["error_is_exact"] = measured(&Measurement::error_is_exact);
  result["spectral_error_lower"] = measured(&Measurement::spectral_error_lower);
  result["apply_seconds_1"] = measured(&Measurement::apply_seconds_1);
  result["apply_seconds_64"] = measured(&Measurement::apply_seconds_64);
  result["fit_seconds"] = row.fit_seconds;
  result["passes"] = row.passes;
  result["message"] = row.message;
  result["interrupted"] = row.interrupted;
  return result;
}

/// Returns ((description, basis, rows) or None, interrupt or None).
nb::tuple compare_methods(const Handle& A,
                          const std::vector<std::string>& names,
                          const std::string& budget,
                          Index rank,
                          std::uint64_t seed,
                          const FitControls& controls) {
  ComparisonOptions options;
  options.methods = names;
  options.rank = rank;
  if (!budget.empty()) options.budget = parse_budget(budget);
  options.target_error = controls.target_error;
  options.seed = seed;
  options.measure.effort = MeasureEffort::kQuick;
  options.measure.seed = seed;
  options.max_seconds = controls.max_seconds;
  FitControls whole{controls.progress, std::numeric_limits<double>::infinity(), 0};
  const auto outcome = in_thread<Comparison>(
      whole, [&](const RunControl& control) { return compare(*A.matrix, options, control); });
  return as_tuple<Comparison>(outcome, [](const Comparison& comparison) -> nb::object {
    nb::list rows;
    for (const ComparisonRow& row : comparison.rows) rows.append(row_dict(row));
    return nb::make_tuple(comparison.description, comparison.basis, rows);
  });
}

}  // namespace

void bind_fits(nb::module_& m) {
  nb::class_<FitControls>(m, "FitControls")
      .def(
          "__init__",
          [](FitControls* self, nb::object progress, double max_seconds, double target_error) {
            new (self) FitControls{std::move(progress), max_seconds, target_error};
          },
          nb::arg("progress").none(),
          nb::arg("max_seconds"),
          nb::arg("target_error"));
  nb::class_<Continuation>(m, "Continuation")
      .def(
          "__init__",
          [](Continuation* self,
             const ApproximationHandle* warm_start,
             const std::string& checkpoint,
             bool resume) {
            new (self) Continuation{warm_start, checkpoint, resume};
          },
          nb::arg("warm_start").none(),
          nb::arg("checkpoint"),
          nb::arg("resume"),
          nb::keep_alive<1, 2>());
  m.def("fit", &fit);
  m.def("best", &best_of);
  m.def("measure",
        &measure_error,
        nb::arg(),
        nb::arg(),
        nb::arg(),
        nb::arg().none(),
        nb::arg(),
        nb::arg());
  m.def("compare", &compare_methods);
  m.def("comparison_methods", &comparison_methods);
}

}  // namespace matapprox::python
