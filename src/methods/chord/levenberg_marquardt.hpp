#pragma once

#include "methods/chord/fit_monitor.hpp"
#include "methods/chord/forms.hpp"

namespace matapprox::chord_fit {

/// Largest P for which the P x P normal equations are formed: a step then takes about 0.2 s on one
/// core.
inline constexpr Index kMaxNewtonValues = 2500;

inline constexpr double kFirstDamping = 1e-3;
inline constexpr double kLargestDamping = 1e12;
/// Relative decrease of f below which a step is rounding.
inline constexpr double kMinFall = 1e-14;

/// Runs Levenberg-Marquardt [Mar63] on the dense normal equations, (J^T J + lambda D) d = -g with D
/// = max(diag, 1e-8 mean diag) and lambda by Nielsen's rule [MNT04, Eq. 2.21]. J^T J is always
/// singular, because W_m E, E^-1 W_{m+1} have the same product for every diagonal E; only lambda >
/// 0 makes the matrix definite. Continues from state.point with step state.newton_step + 1, up to
/// `steps` in all, and offers every accepted point to the monitor. The equations are solved on the
/// host, whatever the memory space of the point. A step costs a Cholesky factorization, P^3 / 3
/// flops, and two evaluations.
Termination run_levenberg_marquardt(FitState& state,
                                    const Form& form,
                                    const Objective& objective,
                                    Index steps,
                                    FitMonitor& monitor);

}  // namespace matapprox::chord_fit
