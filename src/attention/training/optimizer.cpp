#include "matapprox/attention/training/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "matapprox/core/require.hpp"

namespace matapprox::training {

void OptimizerOptions::visit(OptionVisitor& v) {
  v.visit_enum("optimizer", kind, "update rule");
  v.visit("learning_rate", learning_rate, "maximum learning rate of the schedule");
  v.visit("beta1", beta1, "decay rate of the running mean of the gradient (adam, adamw)");
  v.visit("beta2", beta2, "decay rate of the running mean of the squared gradient (adam, adamw)");
  v.visit(
      "epsilon", epsilon, "added to the square root of the mean squared gradient (adam, adamw)");
  v.visit("momentum", momentum, "momentum coefficient (sgd)");
  v.visit("weight_decay",
          weight_decay,
          "weight decay: added to the gradient (adam, sgd) or applied separately (adamw)");
  v.visit("clip", clip, "maximum norm of the gradient; 0: no limit");
  v.visit("embedding_factor", embedding_factor, "factor of the learning rate for embeddings");
  v.visit_enum("schedule", schedule, "learning rate schedule after the warm-up");
  v.visit("warmup", warmup, "number of steps in which the learning rate increases from 0");
}

double schedule_factor(Schedule schedule, Index warmup, Index step, Index steps) {
  const auto t = static_cast<double>(step);
  const auto w = static_cast<double>(warmup);
  if (step < warmup) return t / w;
  const double decayed = static_cast<double>(steps) - t + 1;
  const double left =
      steps > warmup ? std::clamp(decayed / (static_cast<double>(steps) - w), 0.0, 1.0) : 1.0;
  switch (schedule) {
    case Schedule::kConstant:
      return 1;
    case Schedule::kLinear:
      return left;
    case Schedule::kInverseSqrt:
      return std::sqrt(std::max(w, 1.0) / std::max(t, 1.0));
    case Schedule::kCosine:
      return (1 + std::cos(std::numbers::pi * (1 - left))) / 2;
  }
  throw InvalidArgument("optimizer: unknown schedule");
}

double scheduled_rate(const OptimizerOptions& options, Index step, Index steps) {
  return options.learning_rate * schedule_factor(options.schedule, options.warmup, step, steps);
}

std::vector<TrainedPart> trained_parts(const OptimizerOptions& options,
                                       const attention::ParameterList& list) {
  std::vector<TrainedPart> parts;
  for (const attention::Parameter& p : list.parameters()) {
    if (!p.trained) continue;
    const double factor = p.name.starts_with("embedding.") ? options.embedding_factor : 1;
    const bool joins = !parts.empty() && parts.back().end == p.offset &&
                       !(std::abs(parts.back().factor - factor) > 0);
    if (joins) {
      parts.back().end += p.size();
    } else {
      parts.push_back({p.offset, p.offset + p.size(), factor});
    }
  }
  return parts;
}

Optimizer::Optimizer(const OptimizerOptions& options, const attention::ParameterList& list)
    : options_(options), parts_(trained_parts(options, list)), size_(list.size()) {
  const auto share = [](double value) { return value >= 0 && value < 1; };
  require(options.learning_rate > 0 && std::isfinite(options.learning_rate),
          "optimizer: learning_rate {} is not positive",
          options.learning_rate);
  require(share(options.beta1) && share(options.beta2) && share(options.momentum),
          "optimizer: beta1 {}, beta2 {} and momentum {} must be in 0..1 (1 excluded)",
          options.beta1,
          options.beta2,
          options.momentum);
  require(options.epsilon > 0, "optimizer: epsilon {} is not positive", options.epsilon);
  require(
      options.weight_decay >= 0 && options.clip >= 0 && options.embedding_factor >= 0 &&
          options.warmup >= 0,
      "optimizer: weight_decay {}, clip {}, embedding_factor {} and warmup {} cannot be below 0",
      options.weight_decay,
      options.clip,
      options.embedding_factor,
      options.warmup);
}

OptimizerState Optimizer::start() const {
  OptimizerState state;
  state.first.assign(static_cast<std::size_t>(size_), 0);
  if (options_.kind != OptimizerKind::kSgd) state.second = state.first;
  return state;
}

double Optimizer::step(std::span<const float> gradient,
                       Index steps,
                       OptimizerState& state,
                       std::span<float> parameters) const {
  double square = 0;
  for (const TrainedPart& part : parts_) {
    for (Index i = part.begin; i < part.end; ++i) {
      const double g = gradient[static_cast<std::size_t>(i)];
      square += g * g;
    }
  }
  const double norm = std::sqrt(square);
  if (!std::isfinite(norm)) return norm;
  ++state.step;
  const double scale = options_.clip > 0 && norm > options_.clip ? options_.clip / norm : 1;
  const double rate = scheduled_rate(options_, state.step, steps);
  const auto t = static_cast<double>(state.step);
  const double bias1 = 1 - std::pow(options_.beta1, t);
  const double bias2 = 1 - std::pow(options_.beta2, t);
  const bool adam = options_.kind != OptimizerKind::kSgd;
  const bool apart = options_.kind == OptimizerKind::kAdamW;
  for (const TrainedPart& part : parts_) {
    const double own = rate * part.factor;
    for (auto i = static_cast<std::size_t>(part.begin); i < static_cast<std::size_t>(part.end);
         ++i) {
      const double x = parameters[i];
      const double g = scale * gradient[i] + (apart ? 0 : options_.weight_decay * x);
      double change = 0;
      if (adam) {
        const double m = options_.beta1 * state.first[i] + (1 - options_.beta1) * g;
        const double v = options_.beta2 * state.second[i] + (1 - options_.beta2) * g * g;
        state.first[i] = static_cast<float>(m);
        state.second[i] = static_cast<float>(v);
        change = m / bias1 / (std::sqrt(v / bias2) + options_.epsilon);
      } else {
        change = options_.momentum * state.first[i] + g;
        state.first[i] = static_cast<float>(change);
      }
      if (apart) change += options_.weight_decay * x;
      parameters[i] = static_cast<float>(x - own * change);
    }
  }
  return norm;
}

}  // namespace matapprox::training
