#include "methods/chord/fit_monitor.hpp"

#include <algorithm>
#include <cmath>

#include "methods/checkpoint_clock.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kHistoryPoints = 100;
constexpr Index kMaxDescents = Index{1} << 31;
constexpr double kHistoryBound = 1e15;  // bound on saved steps and seconds; exact in double
/// Relative error below which only rounding in the product of the factors is left.
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

HistoryPoint FitMonitor::history_now() const {
  return {count_, seconds_before_ + control_.seconds(), best_error()};
}

void FitMonitor::offer(const ConstMultiVectorView& point, Index form, double f, Index count) {
  if (!has_best()) first_objective_ = f;
  if (f < now_.objective) keep(point, form, f, now_);
  count_ = count;
  const Index stride = std::max<Index>(planned_ / kHistoryPoints, 1);
  if (history_.empty() || count_ >= history_.back().iteration + stride)
    history_.push_back(history_now());
  if (control_.progress) {
    const double share = static_cast<double>(count_) / static_cast<double>(planned_);
    control_.progress({count_, best_error(), std::min(share, 1.0)});
  }
}

void FitMonitor::keep(const ConstMultiVectorView& point, Index form, double f, Best& best) {
  if (best.point.size() != point.rows)
    best.point = MultiVector(point.space->shared_from_this(), point.rows, 1);
  copy(point, best.point.columns());
  best.objective = f;
  best.form = form;
}

void FitMonitor::restate_best_of_descent(double f) {
  now_.objective = f;
  if (!history_.empty() && history_.back().iteration == count_)
    history_.back().relative_error = best_error();
}

void FitMonitor::begin_descent() {
  ended_at_.push_back(now_.objective);
  if (now_.objective < earlier_.objective) std::swap(now_, earlier_);
  now_ = {};
}

std::vector<double> FitMonitor::errors_of_descents() const {
  std::vector<double> errors;
  for (const double f : ended_at_) errors.push_back(relative_error(f));
  return errors;
}

std::vector<HistoryPoint> FitMonitor::history() const {
  std::vector<HistoryPoint> points = history_;
  if (has_best() && points.back().iteration != count_) points.push_back(history_now());
  return points;
}

std::optional<Termination> FitMonitor::verdict() const {
  if (reached_target()) return Termination::kTargetReached;
  if (best_error() <= kExact) return Termination::kConverged;
  if (control_.interrupted()) return Termination::kInterrupted;
  if (control_.out_of_time()) return Termination::kMaxSeconds;
  return std::nullopt;
}

void FitMonitor::checkpoint(const FitState& state) {
  if (control_.seconds() - last_checkpoint_ >= control_.checkpoint_seconds) final_checkpoint(state);
  if (!control_.on_device || state.point.space()->on_host() || control_.seconds() < next_keeping_)
    return;
  constexpr double kSeconds = 10;
  constexpr double kMinTimesItself = 100;
  const double before = control_.seconds();
  kept_ = saved(state);
  if (!kept_->blocks.empty()) kept_ = kept_->with_own_numbers();
  const double after = control_.seconds();
  next_keeping_ = after + std::max(kSeconds, kMinTimesItself * (after - before));
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
  saved.add_columns("best", now_.point.columns());
  saved.add_columns("best_of_earlier_descents", earlier_.point.columns());
  saved.counters.emplace_back("best_form", now_.form);
  saved.counters.emplace_back("best_form_of_earlier_descents", earlier_.form);
  saved.arrays.emplace_back(
      "ended_at", Eigen::Map<const Vector>(ended_at_.data(), static_cast<Index>(ended_at_.size())));
  saved.arrays.emplace_back("objectives",
                            Eigen::Vector3d(now_.objective, earlier_.objective, first_objective_));
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
                      std::span<const Index> numbers,
                      const std::shared_ptr<const MemorySpace>& space) {
  const Vector objectives = saved.array("objectives");
  const Vector history = saved.array("history");
  const Vector ended_at = saved.array("ended_at");
  const Index form = saved.counter("best_form");
  const Index earlier_form = saved.counter("best_form_of_earlier_descents");
  const auto consistent = [&](const std::string& point, Index its_form, double f) {
    if (its_form < 0 || its_form >= static_cast<Index>(numbers.size())) return false;
    const Index size = saved.array_size(point);
    return size == 0
               ? f == std::numeric_limits<double>::infinity()
               : size == numbers[static_cast<std::size_t>(its_form)] && f >= 0 && std::isfinite(f);
  };
  require_consistent(objectives.size() == 3 && !std::isnan(objectives(2)) &&
                         consistent("best", form, objectives(0)) &&
                         consistent("best_of_earlier_descents", earlier_form, objectives(1)) &&
                         ended_at.size() < kMaxDescents && !(ended_at.array() < 0).any() &&
                         !ended_at.array().isNaN().any() && history.size() % 3 == 0 &&
                         history.size() >= 3 && history.allFinite() && history.minCoeff() >= 0 &&
                         history.maxCoeff() < kHistoryBound,
                     "chord");
  now_ = {saved_vector(space, saved, "best"), objectives(0), form};
  earlier_ = {saved_vector(space, saved, "best_of_earlier_descents"), objectives(1), earlier_form};
  require_consistent(is_finite(now_.point) && is_finite(earlier_.point), "chord");
  ended_at_.assign(ended_at.begin(), ended_at.end());
  first_objective_ = objectives(2);
  history_.clear();
  for (Index i = 0; i < history.size(); i += 3) {
    history_.push_back({static_cast<Index>(history(i)), history(i + 1), history(i + 2)});
  }
  count_ = history_.back().iteration;
  seconds_before_ = history_.back().seconds;
}

void FitMonitor::go_on_from_kept(std::span<const Index> numbers) {
  const double before = seconds_before_;  // the clock of this run continues
  load(*kept_, numbers, host_space());
  seconds_before_ = before;
}

}  // namespace matapprox::chord_fit
