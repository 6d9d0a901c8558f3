#pragma once

#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// Decides when a method that can save its whole state writes the next checkpoint.
class CheckpointClock {
 public:
  /// Keeps a reference to the control.
  explicit CheckpointClock(const RunControl& control)
      : control_(control), last_(control.seconds()) {}

  /// True if the caller takes checkpoints and there is memory for the copies of a state of
  /// `numbers` values.
  bool is_wanted(Index numbers) const;
  /// The same, and checkpoint_seconds have passed since the last checkpoint.
  bool is_due(Index numbers) const;
  void restart() { last_ = control_.seconds(); }

 private:
  const RunControl& control_;
  double last_;
};

/// Throws InvalidArgument, saying that the state to resume of `method` contradicts itself, unless
/// `consistent`.
void require_consistent(bool consistent, const char* method);

}  // namespace matapprox
