#pragma once

#include "methods/chord/fit_monitor.hpp"
#include "methods/chord/forms.hpp"

namespace matapprox::chord_fit {

/// Largest chain whose P x P normal equations are formed: a step is then about 0.2 s on one core.
inline constexpr Index kMaxNewtonValues = 2500;

inline constexpr double kFirstDamping = 1e-3;
inline constexpr double kLargestDamping = 1e12;
/// A step that lowers f by less than this, relatively, is rounding.
inline constexpr double kMinFall = 1e-14;

/// Levenberg-Marquardt [Mar63] on the dense normal equations, (J^T J + lambda D) d = -g with D =
/// max(diag, 1e-8 mean diag) and lambda by Nielsen's rule [MNT04, Eq. 2.21]. J^T J is always
/// singular, because W_m D, D^-1 W_{m+1} is the same product for every diagonal D: lambda > 0 is
/// what makes it definite. Goes on from state.point with step state.newton_step + 1, `steps` in
/// all; shows every accepted point to the monitor. The equations are solved on the host, wherever
/// the point lies. A step costs a Cholesky factorization, P^3 / 3 flops, and two evaluations.
Termination run_levenberg_marquardt(FitState& state,
                                    const Form& form,
                                    const Objective& objective,
                                    Index steps,
                                    FitMonitor& monitor);

}  // namespace matapprox::chord_fit
