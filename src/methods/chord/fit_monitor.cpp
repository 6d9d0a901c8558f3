#include "methods/chord/fit_monitor.hpp"

#include <algorithm>
#include <cmath>

#include "core/require.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kHistoryPoints = 100;
constexpr double kHistoryBound = 1e15;  // of steps, seconds; exact in double
/// Relative errors below are rounding in the product of the factors.
constexpr double kExact = 10 * std::numeric_limits<double>::epsilon();

}  // namespace

FitMonitor::FitMonitor(Index order, Index planned, const RunControl& control, Publish publish)
    : order_(order),
      planned_(std::max<Index>(planned, 1)),
      control_(control),
      publish_(std::move(publish)),
      last_checkpoint_(control.seconds()) {}

double FitMonitor::relative_error(double f) const {
  return std::sqrt(2 * f / static_cast<double>(order_));
}

HistoryPoint FitMonitor::now() const {
  return {count_, seconds_before_ + control_.seconds(), best_error()};
}

void FitMonitor::offer(const ConstTallColumns& point, double f, Index count) {
  if (!has_best()) first_objective_ = f;
  if (f < start_.objective) keep(point, f, start_);
  count_ = count;
  const Index stride = std::max<Index>(planned_ / kHistoryPoints, 1);
  if (history_.empty() || count_ >= history_.back().iteration + stride) history_.push_back(now());
  if (control_.progress) {
    const double share = static_cast<double>(count_) / static_cast<double>(planned_);
    control_.progress({count_, best_error(), std::min(share, 1.0)});
  }
}

void FitMonitor::keep(const ConstTallColumns& point, double f, Best& best) {
  if (best.point.size() == 0)
    best.point = TallBlock(point.place->shared_from_this(), point.rows, 1);
  copy(point, best.point.columns());
  best.objective = f;
}

void FitMonitor::begin_start() {
  if (start_.objective < earlier_.objective) std::swap(start_, earlier_);
  start_ = {};
}

std::vector<HistoryPoint> FitMonitor::history() const {
  std::vector<HistoryPoint> points = history_;
  if (has_best() && points.back().iteration != count_) points.push_back(now());
  return points;
}

std::optional<Termination> FitMonitor::verdict() const {
  if (control_.target_error > 0 && best_error() <= control_.target_error)
    return Termination::kTargetReached;
  if (best_error() <= kExact) return Termination::kConverged;
  if (control_.interrupted()) return Termination::kInterrupted;
  if (control_.out_of_time()) return Termination::kMaxSeconds;
  return std::nullopt;
}

void FitMonitor::checkpoint(const FitState& state) {
  if (control_.seconds() - last_checkpoint_ >= control_.checkpoint_seconds) final_checkpoint(state);
  if (state.point.place()->on_host() || control_.seconds() < next_keeping_) return;
  constexpr double kSeconds = 10;
  constexpr double kLeastTimesItself = 100;
  const double before = control_.seconds();
  kept_ = saved(state);
  const double after = control_.seconds();
  next_keeping_ = after + std::max(kSeconds, kLeastTimesItself * (after - before));
}

ResumeState FitMonitor::saved(const FitState& state) const {
  ResumeState saved;
  chord_fit::save(state, saved);
  save(saved);
  return saved;
}

void FitMonitor::final_checkpoint(const FitState& state) {
  if (!control_.checkpoint || !has_best()) return;
  control_.checkpoint(publish_(*this), saved(state));
  last_checkpoint_ = control_.seconds();
}

void FitMonitor::save(ResumeState& saved) const {
  saved.arrays.emplace_back("best", numbers_of(start_.point));
  saved.arrays.emplace_back("best_of_earlier_starts", numbers_of(earlier_.point));
  saved.arrays.emplace_back(
      "objectives", Eigen::Vector3d(start_.objective, earlier_.objective, first_objective_));
  const auto points = history();
  Vector history(3 * static_cast<Index>(points.size()));
  for (Index i = 0; i < history.size() / 3; ++i) {
    const auto& point = points[static_cast<std::size_t>(i)];
    history.segment<3>(3 * i) << static_cast<double>(point.iteration), point.seconds,
        point.relative_error;
  }
  saved.arrays.emplace_back("history", std::move(history));
}

void FitMonitor::load(const ResumeState& saved,
                      Index values,
                      const std::shared_ptr<const BlockPlace>& place) {
  const Vector& objectives = saved.array("objectives");
  const Vector& history = saved.array("history");
  const auto consistent = [&](const Vector& point, double f) {
    return point.size() == 0
               ? f == std::numeric_limits<double>::infinity()
               : point.size() == values && point.allFinite() && f >= 0 && std::isfinite(f);
  };
  require(objectives.size() == 3 && !std::isnan(objectives(2)) &&
              consistent(saved.array("best"), objectives(0)) &&
              consistent(saved.array("best_of_earlier_starts"), objectives(1)) &&
              history.size() % 3 == 0 && history.size() >= 3 && history.allFinite() &&
              history.minCoeff() >= 0 && history.maxCoeff() < kHistoryBound,
          "chord: the state to resume contradicts itself");
  start_ = {vector_at(place, saved.array("best")), objectives(0)};
  earlier_ = {vector_at(place, saved.array("best_of_earlier_starts")), objectives(1)};
  first_objective_ = objectives(2);
  history_.clear();
  for (Index i = 0; i < history.size(); i += 3) {
    history_.push_back({static_cast<Index>(history(i)), history(i + 1), history(i + 2)});
  }
  count_ = history_.back().iteration;
  seconds_before_ = history_.back().seconds;
}

void FitMonitor::go_on_from_kept(Index values) {
  const double before = seconds_before_;  // the clock of this run goes on
  load(*kept_, values, host_place());
  seconds_before_ = before;
}

}  // namespace matapprox::chord_fit
