#pragma once

#include <array>
#include <span>

#include "matapprox/attention/choices.hpp"
#include "matapprox/attention/layers/parameters.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::training {

enum class Schedule { kConstant, kLinear, kInverseSqrt, kCosine };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double learning_rate = 1e-3;  ///< maximum of the schedule
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum = 0.9;        ///< momentum for sgd
  double weight_decay = 0;      ///< adam, sgd: added to the gradient; adamw: applied separately
  double clip = 0;              ///< largest norm of the whole gradient; 0: no limit
  double embedding_factor = 1;  ///< factor of the learning rate for parameters embedding.*
  Schedule schedule = Schedule::kConstant;
  Index warmup = 0;  ///< number of steps of linear increase from 0
  void visit(OptionVisitor& v);
};

/// The learning rate of step t = 1..T relative to the maximum: t / warmup while t < warmup; after
/// that constant, linear from 1 to 0 (reached at step T + 1), sqrt(max(warmup, 1) / t), or half a
/// cosine from 1 to 0.
double schedule_factor(Schedule schedule, Index warmup, Index step, Index steps);

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
  struct Part {
    Index begin;
    Index end;
    double factor;  ///< factor of the learning rate
  };
  OptimizerOptions options_;
  std::vector<Part> parts_;  ///< ranges of trained parameters
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
