#pragma once

#include <optional>

#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

/// Decay of Adam's step to zero: (1 + cos(pi t/T))/2 or its square. The first reaches lower errors
/// with exact gradients (by 1 to 14 % on five matrices of the paper at equal steps), the second
/// with gradients of a sample, whose noise only a small step averages out.
enum class Annealing { kCosine, kSquaredCosine };

/// Takes one bias-corrected step of Adam [KB15], number state.adam_step + 1 of `steps`: b1 = b2 =
/// 0.95, eps = 1e-12, step size 2^-halvings largest_step min(1, 20 t/T) annealing(t/T). The
/// gradient is in the memory space of the state. The step is taken in the coordinates of
/// state.preconditioner, if there is one.
void adam_step(
    FitState& state, const double* gradient, Index steps, double largest_step, Annealing annealing);

/// Largest steps with exact gradients and with gradients of a sample: chosen on Table 1 of the
/// paper; on can_1072 of the SuiteSparse collection and a kernel matrix of order 2048.
inline constexpr double kExactStep = 0.3;
inline constexpr double kSampledStep = 0.03;
/// Largest step with a preconditioner: chosen on six matrices of Table 1 and a gradient image.
inline constexpr double kPreconditionedStep = 0.45;

/// Sets the running means to zero, in the memory space of the point, and resets a preconditioner.
void start_adam(FitState& state);

/// Handles an f that is not finite or far above the best: returns to the best point of this
/// descent, resets the running means and halves the step size from here on.
void restart_from_best(FitState& state, const FitMonitor& monitor);

/// Takes Adam's remaining steps, offers every point to the monitor, and leaves `state` at the best
/// point, ready for L-BFGS. If f or its gradient is not finite, returns to the best point, resets
/// the running means and halves the steps. Returns the reason if the fit should end here; `state`
/// can then continue from the last step. Throws NumericalError if the start itself is not finite,
/// Interrupted if there is no point to return yet.
///
/// While state.coarse, f and its gradient are computed in floats, from and to doubles: the same
/// descent to four digits of the error, at half the cost. Once the relative error is below 1e-3,
/// which the rounding of floats could affect, and at the end, f is evaluated in doubles.
std::optional<Termination> run_adam(FitState& state,
                                    const Objectives& objectives,
                                    Index steps,
                                    FitMonitor& monitor,
                                    const RunControl& control);

}  // namespace matapprox::chord_fit
