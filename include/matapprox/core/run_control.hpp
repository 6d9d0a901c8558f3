#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <limits>

#include "matapprox/core/resume_state.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

class Approximation;

/// Where an iterative method stands; sent to RunControl::progress.
struct Progress {
  Index iteration = 0;
  double relative_error = -1;  ///< current best; negative: not known
  double fraction_done = -1;   ///< 0..1; negative: not known
};

/// How a caller stops long work, by request or after a time. The default lets it run to its end.
class StopControl {
 public:
  /// Set to true from any thread or a signal handler: the work stops at its best point.
  const std::atomic<bool>* stop = nullptr;
  double max_seconds = std::numeric_limits<double>::infinity();

  bool interrupted() const { return stop != nullptr && stop->load(std::memory_order_relaxed); }
  double seconds() const;  ///< since this object was made or restart_clock was called
  bool out_of_time() const { return seconds() >= max_seconds; }
  bool should_stop() const { return interrupted() || out_of_time(); }
  void restart_clock() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// How a caller watches, bounds and stops a running method. The default runs to the end in silence.
class RunControl : public StopControl {
 public:
  /// Stop as soon as this relative Frobenius error is reached; 0: never.
  double target_error = 0;
  std::function<void(const Progress&)> progress;
  /// Called about every checkpoint_seconds with the best point so far. Columns of the state may lie
  /// where the method works on them (ResumeState::add_columns): what outlives the call takes
  /// with_own_numbers().
  std::function<void(const Approximation& best, const ResumeState& state)> checkpoint;
  double checkpoint_seconds = 60;
  const ResumeState* resume = nullptr;
  /// A method that has a part for a GPU (the Chord fit) runs it there: to rounding the same
  /// results, throws NotAvailable if there is none. The operator says itself where it is.
  bool on_device = false;
  /// The precision to which the caller will round the factors. A method may fit some of them to
  /// others as they will be stored; it does not round the result itself.
  Precision stored_precision = Precision::kDouble;

  /// For methods that have nothing to return before they end: throws Interrupted, saying which
  /// method and whether by request or by max_seconds.
  void throw_if_stopped(const char* method) const;
};

}  // namespace matapprox
