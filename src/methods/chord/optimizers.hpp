#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "methods/chord/fit.hpp"
#include "methods/chord/objective.hpp"
#include "methods/chord/plan.hpp"

namespace matapprox::chord_fit {

// ---------------------------------------------------------------------------------------- Adam

/// Decay of Adam's step to zero: (1 + cos(pi t/T))/2 or its square. The first reaches lower errors
/// with exact gradients (by 1 to 14 % on five matrices of the paper at equal steps), the second
/// with gradients of a sample, whose noise only a small step averages out.
enum class Annealing { kCosine, kSquaredCosine };

/// Takes one step of Adam on `count` numbers in a memory space, which is the host's or an
/// AdamSpace.
void take_adam_step(const MemorySpace& space,
                    const kernels::AdamStep& step,
                    const double* gradient,
                    Index count,
                    double* mean,
                    double* square,
                    double* x);

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

// ------------------------------------------------------------------ Adam on samples of columns

/// Returns (N / |J|) times the part of f from the columns J and, unless null, computes its
/// gradient.
using SampledObjective =
    std::function<double(std::span<const Index> J, const double* values, double* gradient)>;

/// Runs Adam on fresh columns in each step [RM51]: steps like those of run_adam, with the squared
/// cosine and the gradient of sample.step(t). About a hundred times per descent, f is estimated on
/// sample.validation() and the point is offered to the monitor. Leaves `state` at the last step.
/// Returns nothing when all steps are taken, else why the fit ends early. Values that are not
/// finite are handled as in run_adam, and so is an estimate with twice the error of the best one.
std::optional<Termination> run_sampled_adam(FitState& state,
                                            const SampledObjective& objective,
                                            ColumnSample& sample,
                                            Index steps,
                                            FitMonitor& monitor,
                                            const RunControl& control);

// -------------------------------------------------------------------------------------- L-BFGS

struct LbfgsSettings {
  Index memory = 20;
  Index max_iterations = 300;
  double tolerance = 1e-7;  ///< least relative decrease of f in 200 iterations
  /// Number of iterations between two points from which a fit can resume with the same bits. Each
  /// segment is a fresh L-BFGS from the last point, so that its pairs, 2 memory vectors, need not
  /// be saved.
  Index segment = 300;
  double first_change = 0;  ///< change by the first step from the start, see Lbfgs
};

/// True if f decreased by less than `tolerance`, relatively, in the last 200 iterations; `costs`: f
/// at all of them.
bool stagnates(const Vector& costs, double tolerance);

/// Runs at most settings.segment iterations of L-BFGS from state.point, without earlier curvature
/// pairs. Moves `state` to the last point, or leaves it unchanged and returns why the fit ends.
using LbfgsSegment = std::function<std::optional<Termination>(FitState& state,
                                                              const Objective& objective,
                                                              const LbfgsSettings& settings,
                                                              FitMonitor& monitor)>;
std::optional<Termination> run_lbfgs_segment(FitState& state,
                                             const Objective& objective,
                                             const LbfgsSettings& settings,
                                             FitMonitor& monitor);

/// Runs L-BFGS with strong Wolfe line search from state.point, in segments. Offers every iterate to
/// the monitor. If it ends early, `state` is at the last segment boundary. Throws NumericalError if
/// f is not finite at a fresh start, Interrupted if there is no point to return yet.
Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control,
                      const LbfgsSegment& run_segment = run_lbfgs_segment);

// -------------------------------------------------------------------------------- Gauss-Newton

/// One factor of a chain with the products on both of its sides.
struct FactorPlace {
  ChordPattern pattern;  ///< pattern of this factor alone
  const double* values;
  Matrix left;              ///< L_m = W_1 ... W_{m-1}
  Matrix right;             ///< T_m^T, T_m = W_{m+1} ... W_M
  std::vector<Index> rows;  ///< row of each stored number
  std::vector<Index> columns;

  Index numbers() const { return static_cast<Index>(rows.size()); }
};

/// Computes the places of all factors of a chain: 2 M N^2 K flops each way, (2 M + 2) N^2 numbers.
std::vector<FactorPlace> places_of(const ChordPattern& pattern, const double* values);

/// Computes the lower triangle of result = J^T J, P x P, where J is the Jacobian of the residual Z
/// - X, Z = W_1...W_M or its symmetric part, with respect to the P stored numbers. The column of J
/// for entry (i, k) of factor m is the rank-one matrix L_m(:, i) T_m(j, :), with L_m =
/// W_1...W_{m-1}, T_m = W_{m+1}...W_M and j = (i + o_k) mod N, so each entry of J^T J is a product
/// of two entries of N x N Gram matrices: <l t^T, l' t'^T> = (l^T l') (t^T t'). For the symmetric
/// part, it is half of that plus half of <l t^T, t' l'^T> = (l^T t') (t^T l'). Cost: M^2 (2 N^3) +
/// P^2 flops (twice as many if symmetrized). Memory: P^2 + (2 M + 2) N^2 numbers. Uses all threads.
void gauss_newton_matrix(const Form& form, const double* values, Matrix& result);

// ------------------------------------------------------------------------- Levenberg-Marquardt

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

// --------------------------------------------------------------------------------------- Ceres

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
