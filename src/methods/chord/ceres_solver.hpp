#pragma once

#include <string>

#include "methods/chord/lbfgs.hpp"
#include "methods/chord/target.hpp"

namespace matapprox::chord_fit {

// Ceres [AMC22] in place of our L-BFGS and Levenberg-Marquardt: another engine for the same
// functions, between the same points. In a build without MATAPPROX_WITH_CERES both throw
// NotAvailable.

bool ceres_is_available();
/// "2.1.0"; empty if it has not.
std::string ceres_version();

/// run_lbfgs_segment by ceres::GradientProblemSolver: L-BFGS with its Wolfe line search. Ceres
/// keeps its memory to itself, so a fit goes on from the start of a segment as ours does, to the
/// same bits.
std::optional<Termination> run_ceres_lbfgs_segment(FitState& state,
                                                   const Objective& objective,
                                                   const LbfgsSettings& settings,
                                                   FitMonitor& monitor);

/// run_levenberg_marquardt by ceres::Solver: residuals Z - A of the target, a block a row, and
/// their Jacobian by the rows of the factors; SPARSE_NORMAL_CHOLESKY (CHOLMOD) where
/// a row of the product does not depend on all of these, else DENSE_NORMAL_CHOLESKY. The damping is
/// 1 / radius, bounded as ours; a step is one that was accepted. Segments of ten steps: a fit goes
/// on from the start of one with its radius, to the same bits. A step costs N^2 P^2 flops, the
/// Jacobian of a dense problem N^2 P numbers. Throws NotAvailable if these do not fit into memory.
Termination run_ceres_levenberg_marquardt(
    FitState& state, const Form& form, const Target& target, Index steps, FitMonitor& monitor);

}  // namespace matapprox::chord_fit
