#pragma once

#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// What a fit does: from each start Adam, L-BFGS and Newton, then Newton from the best.
struct Schedule {
  Index starts = 1;
  Index adam_steps = 0;
  bool alternating = false;    ///< between many and few Adam steps
  Index columns_per_step = 0;  ///< of Adam; 0: all columns, else a random sample each step
  Index lbfgs_iterations = 0;
  Index newton_steps_per_start = 0;
  Index newton_steps = 0;  ///< at the end, from the best point of all starts

  /// Every second start takes a tenth of the steps: a quick annealing ends in other basins than a
  /// slow one, and costs little.
  Index adam_steps_of(Index start) const {
    return alternating && start % 2 != 0 ? adam_steps / 10 : adam_steps;
  }
  Index steps() const {
    return starts * (adam_steps + lbfgs_iterations + newton_steps_per_start) + newton_steps;
  }
};

/// The numbers that `options` gives, and for those that it leaves open what its effort stands for
/// at this order; `warm`: from the caller's factors. Throws InvalidArgument for numbers outside
/// their range.
Schedule schedule_of(const ChordOptions& options, const ChordPattern& pattern, bool warm);

}  // namespace matapprox::chord_fit
