#pragma once

#include <array>
#include <span>
#include <vector>

#include "matapprox/attention/layers/parameters.hpp"
#include "matapprox/attention/options.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::training {

/// The learning rate of step t = 1..T relative to the maximum: t / warmup while t < warmup; after
/// that constant, linear from 1 to 0 (reached at step T + 1), sqrt(max(warmup, 1) / t), or half a
/// cosine from 1 to 0.
double schedule_factor(Schedule schedule, Index warmup, Index step, Index steps);

/// Returns the learning rate of step t = 1..steps.
double scheduled_rate(const OptimizerOptions& options, Index step, Index steps);

/// Returns the trained parameters as ranges in ascending order; all others are frozen.
std::vector<TrainedPart> trained_parts(const OptimizerOptions& options,
                                       const attention::ParameterList& list);

/// The state that an optimizer keeps between steps.
struct OptimizerState {
  Index step = 0;             ///< number of steps taken
  std::vector<float> first;   ///< running mean of the gradient; the velocity of sgd
  std::vector<float> second;  ///< running mean of the squared gradient; empty for sgd
};

/// Adam [KB15], AdamW [LH19] and stochastic gradient descent with momentum over the block of all
/// parameters. Frozen parameters are not changed.
class Optimizer {
 public:
  /// Throws InvalidArgument for options outside their range.
  Optimizer(const OptimizerOptions& options, const attention::ParameterList& list);
  OptimizerState start() const;
  /// Takes step number state.step + 1 of `steps`. Returns the norm of the gradient over trained
  /// parameters, before clipping; if that is not finite, nothing is changed.
  double step(std::span<const float> gradient,
              Index steps,
              OptimizerState& state,
              std::span<float> parameters) const;

 private:
  OptimizerOptions options_;
  std::vector<TrainedPart> parts_;
  Index size_;
};

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::OptimizerKind> {
  static constexpr std::array<std::string_view, 3> values{"adam", "adamw", "sgd"};
};

template <>
struct EnumNames<training::Schedule> {
  static constexpr std::array<std::string_view, 4> values{
      "constant", "linear", "inverse_sqrt", "cosine"};
};

}  // namespace matapprox
