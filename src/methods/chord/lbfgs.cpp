#include "methods/chord/lbfgs.hpp"

#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <ceres/iteration_callback.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/require.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kStagnationWindow = 200;

/// The objective as Ceres sees it. A point where it overflows, and every point once the caller asks
/// to stop, is refused, which ends the line search.
class Function final : public ceres::FirstOrderFunction {
 public:
  Function(const Objective& objective, Index size) : objective_(objective), size_(size) {}

  bool Evaluate(const double* values, double* f, double* gradient) const override {
    if (stopped_) return false;
    try {
      *f = objective_(values, gradient);
    } catch (const Stopped&) {
      stopped_ = true;
      return false;
    }
    return std::isfinite(*f) &&
           (gradient == nullptr || Eigen::Map<const Vector>(gradient, size_).allFinite());
  }
  int NumParameters() const override { return static_cast<int>(size_); }

 private:
  const Objective& objective_;
  Index size_;
  mutable bool stopped_ = false;
};

/// Sees every accepted iterate of one segment.
class Watcher final : public ceres::IterationCallback {
 public:
  Watcher(const FitState& boundary,
          const Vector& point,
          const LbfgsSettings& settings,
          FitMonitor& monitor)
      : boundary_(boundary),
        point_(point),
        settings_(settings),
        monitor_(monitor),
        costs_(boundary.costs) {}

  ceres::CallbackReturnType operator()(const ceres::IterationSummary& step) override {
    if (step.iteration > 0) accept(step.cost);
    reason_ = monitor_.verdict();
    if (!reason_ && stagnates()) reason_ = Termination::kConverged;
    if (reason_) return ceres::SOLVER_TERMINATE_SUCCESSFULLY;
    monitor_.checkpoint(boundary_);
    return ceres::SOLVER_CONTINUE;
  }

  /// Ceres does not show the iterate at which its own rules end the segment.
  void accept_last(double cost) {
    if (cost < costs_(costs_.size() - 1)) accept(cost);
  }

  Index taken() const { return taken_; }
  const Vector& costs() const { return costs_; }
  const std::optional<Termination>& reason() const { return reason_; }

 private:
  void accept(double cost) {
    ++taken_;
    costs_.conservativeResize(costs_.size() + 1);
    costs_(costs_.size() - 1) = cost;
    monitor_.offer(point_, cost, boundary_.count() + taken_);
  }

  bool stagnates() const {
    const Index last = costs_.size() - 1;
    if (last < kStagnationWindow) return false;
    const double before = costs_(last - kStagnationWindow);
    return before - costs_(last) < settings_.tolerance * before;
  }

  const FitState& boundary_;
  const Vector& point_;
  const LbfgsSettings& settings_;
  FitMonitor& monitor_;
  Vector costs_;
  Index taken_ = 0;
  std::optional<Termination> reason_;
};

ceres::GradientProblemSolver::Options solver_options(const LbfgsSettings& settings, Index length) {
  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::LBFGS;
  options.line_search_type = ceres::WOLFE;
  options.max_lbfgs_rank = static_cast<int>(settings.memory);
  options.max_num_iterations = static_cast<int>(length);
  // We stop by our own rules; Ceres' stay for steps and falls of (next to) nothing.
  options.min_line_search_step_size = 1e-30;
  options.function_tolerance = 0;
  options.gradient_tolerance = 0;
  options.parameter_tolerance = 0;
  options.logging_type = ceres::SILENT;
  options.update_state_every_iteration = true;
  return options;
}

/// One segment: moves `state` to its end, or leaves it as it is and returns why the fit ends.
std::optional<Termination> run_segment(FitState& state,
                                       const Objective& objective,
                                       const LbfgsSettings& settings,
                                       FitMonitor& monitor) {
  Vector point = state.point;
  Watcher watcher(state, point, settings, monitor);
  const Index length = std::min(settings.segment, settings.max_iterations - state.iteration);
  auto options = solver_options(settings, length);
  options.callbacks.push_back(&watcher);
  const ceres::GradientProblem problem(new Function(objective, point.size()));
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, point.data(), &summary);

  if (watcher.reason()) return watcher.reason();
  if (summary.IsSolutionUsable()) watcher.accept_last(summary.final_cost);
  if (const auto reason = monitor.verdict()) return reason;
  // No step from a fresh start goes down: this is the floor of rounding, or a stationary point.
  if (watcher.taken() == 0) return Termination::kConverged;
  state.point = point;
  state.iteration += watcher.taken();
  state.costs = watcher.costs();
  return std::nullopt;
}

/// f at the start of L-BFGS without Adam.
void evaluate_start(FitState& state,
                    const Objective& objective,
                    FitMonitor& monitor,
                    const RunControl& control) {
  try {
    const double f = objective(state.point.data(), nullptr);
    if (!std::isfinite(f)) throw NumericalError("chord: the objective overflows at the start");
    monitor.offer(state.point, f, state.count());
    state.costs = Vector::Constant(1, f);
  } catch (const Stopped&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
  }
}

}  // namespace

Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control) {
  if (state.costs.size() == 0) evaluate_start(state, objective, monitor, control);
  if (const auto reason = monitor.verdict()) return *reason;
  if (state.costs.size() == 0) return Termination::kInterrupted;  // a stop that was taken back
  while (state.iteration < settings.max_iterations) {
    if (const auto reason = run_segment(state, objective, settings, monitor)) return *reason;
    monitor.checkpoint(state);
  }
  return Termination::kMaxIterations;
}

}  // namespace matapprox::chord_fit
