#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "device/chord_objective.hpp"
#include "kernels/adam.hpp"
#include "matapprox/core/multi_vector.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/methods/chord.hpp"
#include "methods/chord/plan.hpp"

namespace matapprox::chord_fit {

// ------------------------------------------------------------------------------ Preconditioner

/// SOAP [VMZ+25] for the rows of a chain's factors: for each row of K values, axes along which the
/// entries of its gradient are nearly uncorrelated. On the host.
class RowPreconditioner {
 public:
  RowPreconditioner() = default;  ///< an empty preconditioner
  /// Starts with the axes of the values. `links`: number of links of each factor, at least one.
  RowPreconditioner(Index order, std::vector<Index> links);
  explicit RowPreconditioner(const ChordPattern& pattern);

  /// Number of floats stored, about 2 N times the sum of the squared links.
  static double size_of(const ChordPattern& pattern);

  bool empty() const { return links_.empty(); }
  const std::vector<Index>& links() const { return links_; }
  /// The complete state on which steps depend.
  Vector numbers() const;
  /// Restores the state. Throws InvalidArgument unless it has as many numbers as numbers(), all
  /// finite.
  void set_numbers(const Vector& numbers);
  /// Restores the initial state.
  void reset();

  /// Takes Adam's step `number` in the coordinates of the axes, which it first rotates slightly.
  /// The bits do not depend on the number of threads.
  void step(
      const kernels::AdamStep& adam, Index number, const double* gradient, double* mean, double* x);

 private:
  /// Number of blocks of one factor.
  Index blocks() const;

  Index order_ = 0;
  std::vector<Index> links_;
  std::vector<float> numbers_;  ///< block after block, factor after factor
};

// --------------------------------------------------------------------------------------- State

/// Returns f at `values` and, unless null, computes its gradient; both are addresses in the memory
/// space of the fit's points. The value is not finite where f overflows. Throws Interrupted if
/// the caller's control requests a stop meanwhile.
using Objective = std::function<double(const double* values, double* gradient)>;

/// Returns the objective for vectors on the host, which are copied to `space`, where it is
/// evaluated.
Objective for_host(const Objective& objective,
                   const std::shared_ptr<const MemorySpace>& space,
                   Index size);

/// The same function in two precisions.
struct Objectives {
  Objective in_doubles;
  Objective in_floats;
};

/// Everything that determines how a fit continues. Between two steps of Adam or of Newton, or
/// between two segments of L-BFGS, a fit that starts from a copy of this ends at the same bits. The
/// vectors of P stored numbers are in the memory space where the objective is evaluated.
struct FitState {
  enum class Phase { kAdam, kLbfgs, kNewton };
  Phase phase = Phase::kAdam;
  Index descent = 0;        ///< number of earlier descents
  Index form = 0;           ///< number of the form of the point
  bool coarse = false;      ///< Adam's gradients are computed in floats
  Index earlier_count = 0;  ///< steps and iterations of earlier descents
  Index earlier_halvings = 0;
  bool warm = false;  ///< started from the caller's factors
  FormStart start;    ///< these factors' pattern and order, and the orderings computed
  MultiVector point;
  Index adam_step = 0;  ///< Adam steps taken
  MultiVector mean;     ///< Adam's running means of the gradient and of its square
  MultiVector square;
  /// Preconditioner of Adam on the host, in place of `square`; may be empty.
  RowPreconditioner preconditioner;
  Index halvings = 0;   ///< times Adam restarted from its best point with half the step size
  Index iteration = 0;  ///< L-BFGS iterations taken
  Vector costs;         ///< f at L-BFGS iterations 0 .. iteration; empty before the first
  Index newton_step = 0;
  double damping = 0;  ///< damping of Newton; 0 before the first step
  double damping_growth = 0;

  Index count() const { return earlier_count + adam_step + iteration + newton_step; }
};

/// Copies a vector from any memory space to the host; an empty vector gives no numbers.
Vector numbers_of(const MultiVector& vector);
/// Copies numbers into a vector in `space`; no numbers give an empty vector.
MultiVector vector_at(const std::shared_ptr<const MemorySpace>& space, const Vector& numbers);
/// Returns the saved array of that name as a vector in `space`.
MultiVector saved_vector(const std::shared_ptr<const MemorySpace>& space,
                         const ResumeState& saved,
                         const std::string& name);
/// True if all entries are finite; true for an empty vector.
bool is_finite(const MultiVector& vector);

/// Returns the start of a saved fit. Throws FileError if an entry is missing, InvalidArgument if a
/// pattern or a permutation is invalid.
FormStart saved_start(const ResumeState& saved, Index order);

/// Appends the state as named arrays and counters.
void save(const FitState& state, ResumeState& saved);
/// Reads a saved state. `numbers`: stored numbers of each form; `sampled`: the fit has only Adam
/// steps. Throws FileError if an entry is missing, InvalidArgument if the state has another number
/// of values or contradicts itself.
FitState load_fit_state(const ResumeState& saved,
                        std::span<const Index> numbers,
                        bool sampled,
                        const std::shared_ptr<const MemorySpace>& space);

// ------------------------------------------------------------------------------------- Monitor

/// Monitors one fit: stores the best point of all descents and of the current one, in the memory
/// space of the fit's points, reports progress, decides when to stop, and writes checkpoints. For a
/// fit on a GPU it stores the last state on the host, in case the GPU fails.
class FitMonitor {
 public:
  /// Makes the approximation of a checkpoint.
  using Publish = std::function<Approximation(const FitMonitor&)>;

  /// The target has norm sqrt(order); `planned` counts steps and iterations together.
  FitMonitor(Index order, Index planned, const RunControl& control, Publish publish);

  /// Records f at `point` of the given form after `count` steps and iterations, and stores the
  /// point if it is the best.
  void offer(const ConstMultiVectorView& point, Index form, double f, Index count);
  /// Replaces f of the best point of this descent by a more accurate value.
  void restate_best_of_descent(double f);

  /// Begins another descent.
  void begin_descent();
  /// Skips the next descent: its error counts as infinite.
  void skip_descent() { ended_at_.push_back(std::numeric_limits<double>::infinity()); }

  bool has_best() const { return best_of_all().point.size() > 0; }
  const MultiVector& best() const { return best_of_all().point; }
  double best_objective() const { return best_of_all().objective; }
  Index best_form() const { return best_of_all().form; }
  bool descent_has_best() const { return now_.point.size() > 0; }
  const MultiVector& best_of_descent() const { return now_.point; }
  double best_objective_of_descent() const { return now_.objective; }
  double error_of_descent() const { return relative_error(now_.objective); }
  /// |A - W|_F / |A|_F at the end of each earlier descent; infinite if it was skipped.
  std::vector<double> errors_of_descents() const;
  double best_error() const { return relative_error(best_objective()); }  ///< |A - W|_F / |A|_F
  bool improved() const { return best_objective() < first_objective_; }
  Index count() const { return count_; }
  std::vector<HistoryPoint> history() const;

  /// True if the best error is at most the caller's target error.
  bool reached_target() const {
    return control_.target_error > 0 && best_error() <= control_.target_error;
  }
  /// Reason to end the fit now, if there is one: the target error or rounding is reached, or the
  /// caller requests a stop.
  std::optional<Termination> verdict() const;

  /// Calls control.checkpoint if it is due. For a fit on a GPU, also stores the state on the host:
  /// about every ten seconds, or less often so that it takes at most a percent of the time.
  void checkpoint(const FitState& state);
  /// Calls control.checkpoint now.
  void final_checkpoint(const FitState& state);

  /// Saves best points, first objective and history as part of the state of a fit.
  void save(ResumeState& saved) const;
  /// Restores them. Throws InvalidArgument for a state that contradicts itself or whose points do
  /// not have as many numbers as their forms store.
  void load(const ResumeState& saved,
            std::span<const Index> numbers,
            const std::shared_ptr<const MemorySpace>& space);

  /// The last state stored on the host, or null.
  const ResumeState* kept() const { return kept_ ? &*kept_ : nullptr; }
  /// Moves the fit to the host and continues from *kept().
  void go_on_from_kept(std::span<const Index> numbers);

 private:
  struct Best {
    MultiVector point;
    double objective = std::numeric_limits<double>::infinity();
    Index form = 0;
  };

  const Best& best_of_all() const { return earlier_.objective <= now_.objective ? earlier_ : now_; }
  static void keep(const ConstMultiVectorView& point, Index form, double f, Best& best);
  ResumeState saved(const FitState& state) const;
  double relative_error(double f) const;
  HistoryPoint history_now() const;

  Index order_;
  Index planned_;
  const RunControl& control_;
  Publish publish_;
  Best earlier_;                  ///< best point of earlier descents
  Best now_;                      ///< best point of this descent
  std::vector<double> ended_at_;  ///< least f of each earlier descent
  double first_objective_ = std::numeric_limits<double>::infinity();
  std::vector<HistoryPoint> history_;
  Index count_ = 0;
  double seconds_before_ = 0;  // seconds of the runs that this one resumes
  double last_checkpoint_;
  std::optional<ResumeState> kept_;
  double next_keeping_ = 0;
};

// ------------------------------------------------------------------------------------- The fit

/// Implements `chord`; `on_gpu` makes the GPU's objective if control.on_device.
///
/// If the GPU fails after the first step, or with control.on_device a process runs out of memory,
/// the fit continues on the CPU of this process from the last state stored on the host, which is
/// about ten seconds old unless storing is slow, and the message says so.
///
/// Values computed on several processes remain there (PlacedChord).
Approximation fit_chord(const LinearOperator& A,
                        const ChordOptions& options,
                        const RunControl& control,
                        const ChordObjectiveMaker& on_gpu);

/// Throws NotAvailable, naming the CMake option, if this build does not include the solver.
void require_solver(ChordSolver solver, bool has_ceres);

}  // namespace matapprox::chord_fit
