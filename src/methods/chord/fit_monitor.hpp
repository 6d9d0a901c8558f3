#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "methods/chord/fit_state.hpp"

namespace matapprox::chord_fit {

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

}  // namespace matapprox::chord_fit
