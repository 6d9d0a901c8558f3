#pragma once

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/grid.hpp"
#include "matapprox/attention/options.hpp"

namespace matapprox::cuda {

using training::OptimizerKind;

/// Status of the steps of a run. It stays on the device until the host reads it.
struct StepStatus {
  double loss_sum = 0;  ///< sum of the losses of the steps taken
  double steps = 0;     ///< number of steps taken
  double loss = 0;      ///< mean loss of the last batch
  double wrong = 0;     ///< wrong answers in the last batch
  double norm = 0;      ///< norm of its gradient, before clipping
  double scale = 0;     ///< factor of the gradient: less than 1 if clipped
  double stopped = 0;   ///< 1 once a loss or gradient is not finite
};

/// Prepares a step of an optimizer: determines the clipping, and whether the step is taken at all.
struct JudgeStep {
  static constexpr int kThreads = 1;
  const double* loss_sum = nullptr;  ///< sum of the losses of the samples
  const double* wrong = nullptr;
  const double* squares = nullptr;  ///< sum of the squares of the gradient
  double share = 1;                 ///< 1 / samples
  double clip = 0;                  ///< largest norm; 0: no clipping
  StepStatus* status = nullptr;

  static Index blocks() { return 1; }
  MATAPPROX_HD void operator()(GridPosition) const {
    StepStatus& s = *status;
    s.loss = *loss_sum * share;
    s.wrong = *wrong;
    s.norm = sqrt_of(*squares);
    // x - x is not 0 if x is not finite.
    const double off = (s.loss - s.loss) + (s.norm - s.norm);
    if (!(off <= 0)) s.stopped = 1;
    s.scale = clip > 0 && s.norm > clip ? clip / s.norm : 1;
    if (s.stopped > 0) return;
    s.loss_sum += s.loss;
    s.steps += 1;
  }
};

/// A step of Adam [KB15], AdamW [LH19] or stochastic gradient descent with momentum on numbers
/// begin..end-1 of the block of parameters, in double arithmetic. Does nothing if status->stopped
/// is set.
template <class T>
struct OptimizerStep {
  static constexpr int kThreads = 256;
  training::OptimizerOptions options;
  double rate = 1e-3;
  double bias1 = 1;  ///< 1 - beta1^t
  double bias2 = 1;
  Index begin = 0;
  Index end = 0;
  const T* gradient = nullptr;
  T* first = nullptr;
  T* second = nullptr;  ///< not used by stochastic gradient descent
  T* parameters = nullptr;
  const StepStatus* status = nullptr;

  Index blocks() const { return ceil_div(end - begin, kThreads); }

  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = begin + place.block * kThreads + place.thread;
    if (i >= end || status->stopped > 0) return;
    const auto x = static_cast<double>(parameters[i]);
    const bool apart = options.kind == OptimizerKind::kAdamW;
    const double g =
        status->scale * static_cast<double>(gradient[i]) + (apart ? 0 : options.weight_decay * x);
    double change = 0;
    if (options.kind == OptimizerKind::kSgd) {
      change = options.momentum * static_cast<double>(first[i]) + g;
      first[i] = static_cast<T>(change);
    } else {
      const double m = options.beta1 * static_cast<double>(first[i]) + (1 - options.beta1) * g;
      const double v = options.beta2 * static_cast<double>(second[i]) + (1 - options.beta2) * g * g;
      first[i] = static_cast<T>(m);
      second[i] = static_cast<T>(v);
      change = m / bias1 / (sqrt_of(v / bias2) + options.epsilon);
    }
    if (apart) change += options.weight_decay * x;
    parameters[i] = static_cast<T>(x - rate * change);
  }
};

}  // namespace matapprox::cuda
