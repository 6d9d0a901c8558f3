#pragma once

#include <string>

#include "methods/chord/lbfgs.hpp"
#include "methods/chord/target.hpp"

namespace matapprox::chord_fit {

// Ceres [AMC22] as an alternative to our L-BFGS and Levenberg-Marquardt, for the same functions and
// with the same points to resume from. In a build without MATAPPROX_WITH_CERES both throw
// NotAvailable.

bool ceres_is_available();
/// Version of Ceres, such as "2.1.0"; empty in a build without it.
std::string ceres_version();

/// Implements run_lbfgs_segment by ceres::GradientProblemSolver: L-BFGS with its Wolfe line search.
/// The curvature pairs of Ceres cannot be saved, so a fit resumes from the start of a segment, as
/// with ours, to the same bits.
std::optional<Termination> run_ceres_lbfgs_segment(FitState& state,
                                                   const Objective& objective,
                                                   const LbfgsSettings& settings,
                                                   FitMonitor& monitor);

/// Implements run_levenberg_marquardt by ceres::Solver, with one residual block per row of Z - A
/// and one parameter block per row of a factor. Uses SPARSE_NORMAL_CHOLESKY (CHOLMOD) if at most
/// 0.8 of the Jacobian's numbers can be nonzero, else DENSE_NORMAL_CHOLESKY. The damping is 1 /
/// radius, bounded as ours; only accepted steps count. A fit resumes from the start of a segment of
/// ten steps, with its radius, to the same bits. A step costs N^2 P^2 flops; the Jacobian of a
/// dense problem has N^2 P numbers. Throws NotAvailable if these do not fit into memory.
Termination run_ceres_levenberg_marquardt(
    FitState& state, const Form& form, const Target& target, Index steps, FitMonitor& monitor);

}  // namespace matapprox::chord_fit
