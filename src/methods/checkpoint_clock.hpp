#pragma once

#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// Says when a method that keeps its whole state hands out the next checkpoint.
class CheckpointClock {
 public:
  /// Keeps a reference to the control.
  explicit CheckpointClock(const RunControl& control)
      : control_(control), last_(control.seconds()) {}

  /// Whether the caller takes checkpoints, and there is memory for the copies of a state of so many
  /// numbers.
  bool is_wanted(Index numbers) const;
  /// The same, and the last one was checkpoint_seconds ago.
  bool is_due(Index numbers) const;
  void restart() { last_ = control_.seconds(); }

 private:
  const RunControl& control_;
  double last_;
};

/// Throws InvalidArgument, that `method`'s state to resume contradicts itself, unless it is true.
void require_consistent(bool consistent, const char* method);

}  // namespace matapprox
