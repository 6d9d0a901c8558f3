#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "methods/chord/fit_state.hpp"

namespace matapprox::chord_fit {

/// Watches one fit: keeps the best point of all descents and of the present one, where the fit's
/// points lie, reports progress, decides when there is no reason to go on, and hands out
/// checkpoints. Of a fit on a GPU it keeps the last state on the host, in case the GPU fails.
class FitMonitor {
 public:
  /// Makes the approximation that a checkpoint hands out.
  using Publish = std::function<Approximation(const FitMonitor&)>;

  /// A target of norm sqrt(order); `planned` counts steps and iterations together.
  FitMonitor(Index order, Index planned, const RunControl& control, Publish publish);

  /// Takes note of f at `point`, of that form, after `count` steps and iterations, and keeps the
  /// best.
  void offer(const ConstMultiVectorView& point, Index form, double f, Index count);
  /// f of the best point of this descent, evaluated anew with more digits.
  void restate_best_of_descent(double f);

  /// From here on the points are those of another descent.
  void begin_descent();
  /// The next descent is left out: its error counts as infinite.
  void skip_descent() { ended_at_.push_back(std::numeric_limits<double>::infinity()); }

  bool has_best() const { return best_of_all().point.size() > 0; }
  const MultiVector& best() const { return best_of_all().point; }
  double best_objective() const { return best_of_all().objective; }
  Index best_form() const { return best_of_all().form; }
  bool descent_has_best() const { return now_.point.size() > 0; }
  const MultiVector& best_of_descent() const { return now_.point; }
  double best_objective_of_descent() const { return now_.objective; }
  double error_of_descent() const { return relative_error(now_.objective); }
  /// |A - W|_F / |A|_F at the end of each descent before this one; infinite where it was left out.
  std::vector<double> errors_of_descents() const;
  double best_error() const { return relative_error(best_objective()); }  ///< |A - W|_F / |A|_F
  bool improved() const { return best_objective() < first_objective_; }
  Index count() const { return count_; }
  std::vector<HistoryPoint> history() const;

  /// Whether the best error is at most what the caller wants.
  bool reached_target() const {
    return control_.target_error > 0 && best_error() <= control_.target_error;
  }
  /// Why the fit should end now, if it should: the target error or rounding is reached, or the
  /// caller asks for it.
  std::optional<Termination> verdict() const;

  /// Calls control.checkpoint if it is due. On a GPU, also keeps the state on the host: about
  /// every ten seconds, and so seldom that it takes at most a percent of the time.
  void checkpoint(const FitState& state);
  /// Calls control.checkpoint now.
  void final_checkpoint(const FitState& state);

  /// Best point, first objective and history, as part of the state of a fit.
  void save(ResumeState& saved) const;
  /// Throws InvalidArgument for a state that contradicts itself or whose points are not of as many
  /// numbers as their forms store.
  void load(const ResumeState& saved,
            std::span<const Index> numbers,
            const std::shared_ptr<const MemorySpace>& space);

  /// The last state that was kept on the host, or null.
  const ResumeState* kept() const { return kept_ ? &*kept_ : nullptr; }
  /// From here on the fit is on the host; it goes on from *kept().
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
  Best earlier_;                  ///< of the descents before this one
  Best now_;                      ///< of this one
  std::vector<double> ended_at_;  ///< the least f of each descent before this one
  double first_objective_ = std::numeric_limits<double>::infinity();
  std::vector<HistoryPoint> history_;
  Index count_ = 0;
  double seconds_before_ = 0;  // in the runs that this one goes on from
  double last_checkpoint_;
  std::optional<ResumeState> kept_;
  double next_keeping_ = 0;
};

}  // namespace matapprox::chord_fit
