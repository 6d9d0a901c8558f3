#pragma once

#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// While it lives, long loops of this thread and of the threads that help it ask `control` between
/// their pieces whether to stop, and throw Interrupted if so: parallel_for before each index, and
/// loops of their own by stop_if_asked(). A product that takes minutes thus ends within a piece of
/// it, and neither operators nor kernels have to be handed a RunControl.
///
/// It belongs around what has no result before its end. Whoever holds a result that it would rather
/// return catches Interrupted. The innermost scope counts; one with a control that never asks to
/// stop lets its work run to the end.
class StopScope {
 public:
  /// `who` starts the message; it and `control` must outlive the scope.
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

/// The scope that counts in this thread; null if there is none.
const StopScope* current_stop_scope();

/// Makes `scope` count in this thread, and what counted before again at the end: for threads that
/// take part in the work of another one.
class JoinStopScope {
 public:
  explicit JoinStopScope(const StopScope* scope);
  ~JoinStopScope();
  JoinStopScope(const JoinStopScope&) = delete;
  JoinStopScope& operator=(const JoinStopScope&) = delete;

 private:
  const StopScope* before_;
};

/// Throws Interrupted if the scope that counts asks for it. Cheap enough for a loop whose body
/// takes a microsecond.
void stop_if_asked();

}  // namespace matapprox
