#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>

#include "matapprox/core/resume_state.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

class Approximation;

/// Progress of an iterative method, passed to RunControl::progress.
struct Progress {
  Index iteration = 0;
  double relative_error = -1;  ///< best so far; negative: unknown
  double fraction_done = -1;   ///< 0..1; negative: unknown
};

/// Stops long work on request or after a time limit. By default the work runs to its end.
class StopToken {
 public:
  /// Set it to true, from any thread or a signal handler, to stop the work at its best point.
  const std::atomic<bool>* stop = nullptr;
  double max_seconds = std::numeric_limits<double>::infinity();

  bool interrupted() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  double seconds() const;  ///< since construction or the last restart_clock()
  bool out_of_time() const { return seconds() >= max_seconds; }
  bool should_stop() const { return interrupted() || out_of_time(); }
  /// For work without a result before its end: if a stop is due, throws Interrupted, naming the
  /// method and the cause (a request or max_seconds).
  void throw_if_stopped(const char* method) const;
  void restart_clock() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Monitors, limits and stops a running method. By default it runs to its end without reports.
class RunControl : public StopToken {
 public:
  /// The method stops as soon as this relative Frobenius error is reached; 0: never.
  double target_error = 0;
  std::function<void(const Progress&)> progress;
  /// Called about every checkpoint_seconds with the best point so far. Columns of the state may be
  /// in the memory space of the method (ResumeState::add_columns): to keep the state beyond the
  /// call, copy it by with_own_numbers().
  std::function<void(const Approximation& best, const ResumeState& state)> checkpoint;
  double checkpoint_seconds = 60;
  const ResumeState* resume = nullptr;
  /// A method with a GPU implementation (the Chord fit) runs it there. Results agree with those of
  /// the CPU up to rounding. Throws NotAvailable if there is no GPU. The memory space of the
  /// operator is its own property and independent of this option.
  bool on_device = false;
  /// Precision to which the caller will round the factors. A method may fit some factors to the
  /// rounded values of others; it does not round the result itself.
  Precision stored_precision = Precision::kDouble;
  /// Bytes below which a result with the target error is of use to the caller. A method may end its
  /// search for fewer bytes if it is not expected to come below.
  double useful_bytes = std::numeric_limits<double>::infinity();
};

/// While a StopScope exists, long loops of this thread and of its helper threads poll `token` and
/// throw Interrupted if it requests a stop: parallel_for polls before each index, other loops by
/// throw_if_stop_requested(). A product that takes minutes thus ends within a piece of it, and
/// neither operators nor kernels need a RunControl.
///
/// Use it around work that has no result before its end. A caller that already has a result to
/// return catches Interrupted. The innermost scope is the active one; if its token never requests
/// a stop, its work runs to the end.
class StopScope {
 public:
  /// `who` begins the message; it and `token` must outlive the scope.
  StopScope(const StopToken& token, const char* who);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  void throw_if_stopped() const;

 private:
  const StopToken& token_;
  const char* who_;
  const StopScope* outer_;
};

/// The active scope of this thread; null if there is none.
const StopScope* current_stop_scope();

/// Makes `scope` the active scope of this thread and restores the previous one at the end: for
/// threads that take part in the work of another thread.
class JoinStopScope {
 public:
  explicit JoinStopScope(const StopScope* scope);
  ~JoinStopScope();
  JoinStopScope(const JoinStopScope&) = delete;
  JoinStopScope& operator=(const JoinStopScope&) = delete;

 private:
  const StopScope* before_;
};

/// Throws Interrupted if the active scope requests a stop. Cheap enough for a loop whose body takes
/// a microsecond.
void throw_if_stop_requested();

}  // namespace matapprox
