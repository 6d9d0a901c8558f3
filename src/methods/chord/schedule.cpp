#include "methods/chord/schedule.hpp"

#include <algorithm>
#include <array>

#include "core/require.hpp"
#include "methods/chord/levenberg_marquardt.hpp"

namespace matapprox::chord_fit {
namespace {

/// What an effort stands for at orders up to `order`. Chosen by looking at the 27 matrices of the
/// paper's Table 1: steps pay longer where the order is small, several starts and Newton steps only
/// there.
struct Level {
  Index order;
  Index starts;
  Index adam_steps;
  Index lbfgs_iterations;
  Index newton_steps;
  bool alternating = false;
};

/// How often a sampled fit looks at each column.
Index epochs_of(ChordEffort effort) {
  switch (effort) {
    case ChordEffort::kFast:
      return 10;
    case ChordEffort::kDefault:
      return 40;
    case ChordEffort::kHigh:
      return 160;
  }
  throw InvalidArgument("chord: unknown effort");
}

constexpr Index kAnyOrder = std::numeric_limits<Index>::max();
constexpr std::array kFast{Level{kAnyOrder, 1, 1000, 300, 0}};
constexpr std::array kDefault{Level{24, 8, 10000, 300, 50},
                              Level{36, 4, 10000, 300, 40},
                              Level{64, 3, 10000, 300, 10, true},
                              Level{128, 1, 10000, 5000, 0},
                              Level{256, 1, 5000, 300, 0},
                              Level{kAnyOrder, 1, 3000, 300, 0}};
constexpr std::array kHigh{Level{24, 32, 10000, 300, 200},
                           Level{36, 10, 20000, 300, 150},
                           Level{64, 8, 30000, 300, 100, true},
                           Level{128, 2, 30000, 5000, 0},
                           Level{256, 2, 20000, 2000, 0},
                           Level{kAnyOrder, 1, 10000, 1000, 0}};

template <std::size_t count>
const Level& level_at(const std::array<Level, count>& levels, Index order) {
  return *std::find_if(
      levels.begin(), levels.end(), [&](const Level& level) { return order <= level.order; });
}

const Level& level_of(ChordEffort effort, Index order) {
  switch (effort) {
    case ChordEffort::kFast:
      return level_at(kFast, order);
    case ChordEffort::kDefault:
      return level_at(kDefault, order);
    case ChordEffort::kHigh:
      return level_at(kHigh, order);
  }
  throw InvalidArgument("chord: unknown effort");
}

Index chosen(Index given, Index by_effort) { return given < 0 ? by_effort : given; }

constexpr Index kMostSteps = 1000000000;

void check(const ChordOptions& options) {
  const auto check_count = [](const char* name, Index value) {
    require(value >= -1, "chord: {} {} is below -1", name, value);
    require(value <= kMostSteps, "chord: {} {} is above {}", name, value, kMostSteps);
  };
  require(options.starts != 0, "chord: starts 0 is below 1");
  check_count("starts", options.starts);
  check_count("adam_steps", options.adam_steps);
  check_count("max_iterations", options.max_iterations);
  check_count("newton_steps", options.newton_steps);
  check_count("columns_per_step", options.columns_per_step);
}

/// Up to this order a step looks at all columns unless told otherwise.
constexpr Index kLargestExactOrder = 4096;
constexpr Index kSampledColumns = 32;
constexpr Index kLeastSampledOrder = 32;

/// 0: all columns.
Index columns_per_step(const ChordOptions& options, Index order) {
  const Index columns =
      chosen(options.columns_per_step, order > kLargestExactOrder ? kSampledColumns : 0);
  if (columns >= order) return 0;
  require(columns == 0 || order >= kLeastSampledOrder,
          "chord: columns_per_step {} needs an order of at least {}, this matrix has {}",
          columns,
          kLeastSampledOrder,
          order);
  return columns;
}

}  // namespace

Schedule schedule_of(const ChordOptions& options, const ChordPattern& pattern, bool warm) {
  check(options);
  const Index n = pattern.order;
  const Level& level = level_of(options.effort, n);
  Schedule schedule;
  require(!warm || options.starts <= 1,
          "chord: a warm start is the only start, starts {} cannot be",
          options.starts);
  schedule.starts = warm ? 1 : chosen(options.starts, level.starts);
  schedule.adam_steps = chosen(options.adam_steps, warm ? 0 : level.adam_steps);
  schedule.lbfgs_iterations = chosen(options.max_iterations, level.lbfgs_iterations);
  const bool affordable = pattern.stored_numbers() <= kMostNewtonValues;
  require(options.newton_steps <= 0 || affordable,
          "chord: newton_steps are for chains of at most {} numbers, this one has {}",
          kMostNewtonValues,
          pattern.stored_numbers());
  schedule.columns_per_step = columns_per_step(options, n);
  if (schedule.columns_per_step > 0) {
    schedule.lbfgs_iterations = 0;  // needs f and its gradient without noise
    const Index by_effort = epochs_of(options.effort) * n / schedule.columns_per_step;
    schedule.adam_steps = chosen(options.adam_steps, std::max<Index>(by_effort, 1));
    schedule.starts = warm ? 1 : std::max<Index>(options.starts, 1);
    return schedule;
  }
  schedule.newton_steps = affordable ? chosen(options.newton_steps, level.newton_steps) : 0;
  schedule.alternating = level.alternating;
  // Enough to see which start is the best.
  if (schedule.starts > 1) schedule.newton_steps_per_start = schedule.newton_steps / 5;
  return schedule;
}

}  // namespace matapprox::chord_fit
