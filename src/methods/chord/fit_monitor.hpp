#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "methods/chord/fit_state.hpp"

namespace matapprox::chord_fit {

/// Watches one fit: keeps the best point of all starts and of the present one, where the fit's
/// points lie, reports progress, decides when there is no reason to go on, and hands out
/// checkpoints. Of a fit on a card it keeps the last state on the host, in case the card fails.
class FitMonitor {
 public:
  /// Makes the approximation that a checkpoint hands out.
  using Publish = std::function<Approximation(const FitMonitor&)>;

  /// A target of norm sqrt(order); `planned` counts steps and iterations together.
  FitMonitor(Index order, Index planned, const RunControl& control, Publish publish);

  /// Takes note of f at `point` after `count` steps and iterations, and keeps the best.
  void offer(const ConstTallColumns& point, double f, Index count);

  /// From here on the points are those of another start.
  void begin_start();

  bool has_best() const { return best_of_all().point.size() > 0; }
  const TallBlock& best() const { return best_of_all().point; }
  double best_objective() const { return best_of_all().objective; }
  bool start_has_best() const { return start_.point.size() > 0; }
  const TallBlock& best_of_start() const { return start_.point; }
  double best_objective_of_start() const { return start_.objective; }
  double best_error() const { return relative_error(best_objective()); }  ///< |A - W|_F / |A|_F
  bool improved() const { return best_objective() < first_objective_; }
  Index count() const { return count_; }
  std::vector<HistoryPoint> history() const;

  /// Why the fit should end now, if it should: the target error or rounding is reached, or the
  /// caller asks for it.
  std::optional<Termination> verdict() const;

  /// Calls control.checkpoint if it is due. On a card, also keeps the state on the host: about
  /// every ten seconds, and so seldom that it takes at most a percent of the time.
  void checkpoint(const FitState& state);
  /// Calls control.checkpoint now.
  void final_checkpoint(const FitState& state);

  /// Best point, first objective and history, as part of the state of a fit.
  void save(ResumeState& saved) const;
  /// Throws InvalidArgument for a state that contradicts itself or is not of `values` numbers.
  void load(const ResumeState& saved, Index values, const std::shared_ptr<const BlockPlace>& place);

  /// The last state that was kept on the host, or null.
  const ResumeState* kept() const { return kept_ ? &*kept_ : nullptr; }
  /// From here on the fit is on the host; it goes on from *kept().
  void go_on_from_kept(Index values);

 private:
  struct Best {
    TallBlock point;
    double objective = std::numeric_limits<double>::infinity();
  };

  const Best& best_of_all() const {
    return earlier_.objective <= start_.objective ? earlier_ : start_;
  }
  static void keep(const ConstTallColumns& point, double f, Best& best);
  ResumeState saved(const FitState& state) const;
  double relative_error(double f) const;
  HistoryPoint now() const;

  Index order_;
  Index planned_;
  const RunControl& control_;
  Publish publish_;
  Best earlier_;  ///< of the starts before this one
  Best start_;
  double first_objective_ = std::numeric_limits<double>::infinity();
  std::vector<HistoryPoint> history_;
  Index count_ = 0;
  double seconds_before_ = 0;  // in the runs that this one goes on from
  double last_checkpoint_;
  std::optional<ResumeState> kept_;
  double next_keeping_ = 0;
};

}  // namespace matapprox::chord_fit
