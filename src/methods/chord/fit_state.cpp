#include "methods/chord/fit_state.hpp"

#include "core/require.hpp"

namespace matapprox::chord_fit {

void save(const FitState& state, ResumeState& saved) {
  saved.counters.emplace_back("phase", static_cast<Index>(state.phase));
  saved.counters.emplace_back("adam_step", state.adam_step);
  saved.counters.emplace_back("halvings", state.halvings);
  saved.counters.emplace_back("iteration", state.iteration);
  saved.arrays.emplace_back("point", state.point);
  saved.arrays.emplace_back("mean", state.mean);
  saved.arrays.emplace_back("square", state.square);
  saved.arrays.emplace_back("costs", state.costs);
}

FitState load_fit_state(const ResumeState& saved, Index values) {
  const Index phase = saved.counter("phase");
  FitState state{phase == 0 ? FitState::Phase::kAdam : FitState::Phase::kLbfgs,
                 saved.array("point"),
                 saved.counter("adam_step"),
                 saved.array("mean"),
                 saved.array("square"),
                 saved.counter("halvings"),
                 saved.counter("iteration"),
                 saved.array("costs")};
  const bool adam = state.phase == FitState::Phase::kAdam;
  require(state.point.size() == values,
          "chord: the state to resume is of {} values, this fit has {}",
          state.point.size(),
          values);
  require((phase == 0 || phase == 1) && state.adam_step >= 0 && state.iteration >= 0 &&
              state.halvings >= 0 &&
              (!adam || (state.mean.size() == values && state.square.size() == values)) &&
              (state.costs.size() == 0 || state.costs.size() == state.iteration + 1),
          "chord: the state to resume contradicts itself");
  return state;
}

}  // namespace matapprox::chord_fit
