#pragma once

#include <atomic>
#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox::test {

struct Checkpoint {
  Approximation best;
  ResumeState state;
};

/// A control that collects a checkpoint whenever a method offers one, and sets `stop` at progress
/// report number `last`.
struct Recorder {
  explicit Recorder(Index last = -1) {
    control.stop = &stop;
    control.checkpoint_seconds = 0;
    control.progress = [this, last](const Progress& now) {
      progress.push_back(now);
      if (static_cast<Index>(progress.size()) == last) stop = true;
    };
    control.checkpoint = [this](const Approximation& best, const ResumeState& state) {
      checkpoints.push_back({best, state.with_own_numbers()});
    };
  }
  RunControl control;
  std::atomic<bool> stop{false};
  std::vector<Progress> progress;
  std::vector<Checkpoint> checkpoints;
};

/// A control that resumes from a state, which must outlive it.
inline RunControl going_on_from(const ResumeState& state) {
  RunControl control;
  control.resume = &state;
  return control;
}

}  // namespace matapprox::test
