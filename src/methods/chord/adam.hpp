#pragma once

#include <optional>

#include "methods/chord/fit_monitor.hpp"

namespace matapprox::chord_fit {

/// How Adam's step falls to zero: by (1 + cos(pi t/T))/2 or by its square. The first ends lower
/// where the gradient is exact (by 1 to 14 % on five matrices of the paper at equal steps),
/// the second where it is of a sample, whose noise only a small step averages out.
enum class Annealing { kCosine, kSquaredCosine };

/// One bias-corrected step of Adam [KB15], number state.adam_step + 1 of `steps`: b1 = b2 = 0.95,
/// eps = 1e-12, the gradient where the state is, step size 2^-halvings largest_step
/// min(1, 20 t/T) annealing(t/T). In the coordinates of state.preconditioner, if there is one.
void adam_step(
    FitState& state, const double* gradient, Index steps, double largest_step, Annealing annealing);

/// Largest step where the gradient is exact, and where it is of a sample: chosen on Table 1 of the
/// paper; on can_1072 of the SuiteSparse collection and a kernel matrix of order 2048.
inline constexpr double kExactStep = 0.3;
inline constexpr double kSampledStep = 0.03;
/// With a preconditioner: chosen on six matrices of Table 1 and a gradient image.
inline constexpr double kPreconditionedStep = 0.45;

/// Running means of zero, where the point lies; a preconditioner starts anew.
void start_adam(FitState& state);

/// Where f is not finite, or far above the best: back to the best point of this start, without
/// the running means, with half of the step size from here on.
void restart_from_best(FitState& state, const FitMonitor& monitor);

/// Takes Adam's remaining steps, shows every point to the monitor, and leaves `state` at the best
/// point, ready for L-BFGS. Where f or its gradient is not finite, goes back to the best point,
/// forgets the running means and halves the steps. Returns the reason if the fit should end here;
/// `state` then goes on from the last step. Throws NumericalError if the start itself is not
/// finite, Interrupted if there is no point to return yet.
///
/// While state.coarse, f and its gradient are computed in floats, from and to doubles: the same
/// descent to four digits of the error, at half the cost. Where the relative error comes under
/// 1e-3, which the rounding of floats could blur, and at the end, f is evaluated in doubles.
std::optional<Termination> run_adam(FitState& state,
                                    const Objectives& objectives,
                                    Index steps,
                                    FitMonitor& monitor,
                                    const RunControl& control);

}  // namespace matapprox::chord_fit
