#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "matapprox/factors/approximation.hpp"
#include "methods/chord/fit_state.hpp"

namespace matapprox::chord_fit {

/// Watches one fit: keeps the best point, reports progress, decides when there is no reason to go
/// on, and hands out checkpoints.
class FitMonitor {
 public:
  /// Makes the approximation that a checkpoint hands out.
  using Publish = std::function<Approximation(const FitMonitor&)>;

  /// A target of norm sqrt(order); `planned` counts steps and iterations together.
  FitMonitor(Index order, Index planned, const RunControl& control, Publish publish);

  /// Takes note of f at `point` after `count` steps and iterations, and keeps the best.
  void offer(const Eigen::Ref<const Vector>& point, double f, Index count);

  bool has_best() const { return best_.size() > 0; }
  const Vector& best() const { return best_; }
  double best_objective() const { return best_objective_; }
  double best_error() const { return relative_error(best_objective_); }  ///< |A - W|_F / |A|_F
  bool improved() const { return best_objective_ < first_objective_; }
  Index count() const { return count_; }
  std::vector<HistoryPoint> history() const;

  /// Why the fit should end now, if it should: the target error or rounding is reached, or the
  /// caller asks for it.
  std::optional<Termination> verdict() const;

  /// Calls control.checkpoint if it is due.
  void checkpoint(const FitState& state);
  /// Calls control.checkpoint now.
  void final_checkpoint(const FitState& state);

  /// Best point, first objective and history, as part of the state of a fit.
  void save(ResumeState& saved) const;
  void load(const ResumeState& saved);

 private:
  double relative_error(double f) const;
  HistoryPoint now() const;

  Index order_;
  Index planned_;
  const RunControl& control_;
  Publish publish_;
  Vector best_;
  double best_objective_ = std::numeric_limits<double>::infinity();
  double first_objective_ = std::numeric_limits<double>::infinity();
  std::vector<HistoryPoint> history_;
  Index count_ = 0;
  double seconds_before_ = 0;  // in the runs that this one goes on from
  double last_checkpoint_;
};

}  // namespace matapprox::chord_fit
