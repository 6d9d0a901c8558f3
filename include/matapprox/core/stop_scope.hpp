#pragma once

#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// While a StopScope exists, long loops of this thread and of its helper threads poll `control` and
/// throw Interrupted if it requests a stop: parallel_for polls before each index, other loops by
/// throw_if_stop_requested(). A product that takes minutes thus ends within a piece of it, and
/// neither operators nor kernels need a RunControl.
///
/// Use it around work that has no result before its end. A caller that already has a result to
/// return catches Interrupted. The innermost scope is the active one; if its control never requests
/// a stop, its work runs to the end.
class StopScope {
 public:
  /// `who` begins the message; it and `control` must outlive the scope.
  StopScope(const RunControl& control, const char* who);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  void throw_if_stopped() const;

 private:
  const RunControl& control_;
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
