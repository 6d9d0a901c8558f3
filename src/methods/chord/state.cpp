#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/adam.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "methods/checkpoints.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/optimizers.hpp"

namespace matapprox::chord_fit {

// ------------------------------------------------------------------------------ Preconditioner

namespace {

constexpr double kProductDecay = 0.98;

std::vector<Index> links_of(const ChordPattern& pattern) {
  std::vector<Index> links;
  for (Index m = 0; m < pattern.factors(); ++m) links.push_back(pattern.links(m));
  return links;
}

Index blocks_of(Index order) { return (order + kernels::kSoapRows - 1) / kernels::kSoapRows; }

}  // namespace

RowPreconditioner::RowPreconditioner(Index order, std::vector<Index> links)
    : order_(order), links_(std::move(links)) {
  Index size = 0;
  for (const Index K : links_) size += blocks() * kernels::soap_block_size(K);
  numbers_.resize(static_cast<std::size_t>(size));
  reset();
}

RowPreconditioner::RowPreconditioner(const ChordPattern& pattern)
    : RowPreconditioner(pattern.order, links_of(pattern)) {}

double RowPreconditioner::size_of(const ChordPattern& pattern) {
  double size = 0;
  for (const Index K : links_of(pattern)) {
    size += static_cast<double>(blocks_of(pattern.order)) *
            static_cast<double>(kernels::soap_block_size(K));
  }
  return size;
}

Index RowPreconditioner::blocks() const { return blocks_of(order_); }

Vector RowPreconditioner::numbers() const {
  return Eigen::Map<const Eigen::VectorXf>(numbers_.data(), static_cast<Index>(numbers_.size()))
      .cast<double>();
}

void RowPreconditioner::set_numbers(const Vector& numbers) {
  require_consistent(numbers.size() == static_cast<Index>(numbers_.size()) && numbers.allFinite(),
                     "chord");
  std::transform(numbers.begin(), numbers.end(), numbers_.begin(), [](double number) {
    return static_cast<float>(number);
  });
}

void RowPreconditioner::reset() {
  float* block = numbers_.data();
  for (const Index K : links_) {
    for (Index b = 0; b < blocks(); ++b, block += kernels::soap_block_size(K))
      kernels::start_soap(K, block);
  }
}

void RowPreconditioner::step(
    const kernels::AdamStep& adam, Index number, const double* gradient, double* mean, double* x) {
  const kernels::SoapStep step{.number = number, .adam = adam, .product_decay = kProductDecay};
  float* of_factor = numbers_.data();
  for (const Index K : links_) {
    parallel_for(blocks(), [&](Index b) {
      const Index first = b * kernels::kSoapRows;
      kernels::soap_step(step,
                         std::min(kernels::kSoapRows, order_ - first),
                         K,
                         gradient + first * K,
                         mean + first * K,
                         of_factor + b * kernels::soap_block_size(K),
                         x + first * K);
    });
    of_factor += blocks() * kernels::soap_block_size(K);
    gradient += order_ * K;
    mean += order_ * K;
    x += order_ * K;
  }
}

// --------------------------------------------------------------------------------------- State

Objective for_host(const Objective& objective,
                   const std::shared_ptr<const MemorySpace>& space,
                   Index size) {
  if (space->on_host()) return objective;
  auto vectors = std::make_shared<MultiVector>(space, size, 2);
  return [=](const double* values, double* gradient) {
    double* slopes = vectors->data() + size;
    space->write(values, size, vectors->data());
    const double f = objective(vectors->data(), gradient == nullptr ? nullptr : slopes);
    if (gradient != nullptr) space->read(slopes, size, gradient);
    return f;
  };
}

namespace {

constexpr Index kPhases = 3;
constexpr Index kLargestCount = Index{1} << 50;

bool is_preconditioned(const ResumeState& saved) { return saved.has_array("preconditioner"); }

RowPreconditioner saved_preconditioner(const ResumeState& saved, Index values) {
  const Vector widths = saved.array("preconditioner_links");
  require_consistent(((widths.array() >= 1) && (widths.array() < 1e9)).all(), "chord");
  std::vector<Index> links;
  Index sum = 0;
  for (const double width : widths) {
    links.push_back(static_cast<Index>(width));
    sum += links.back();
  }
  require_consistent(sum > 0 && values % sum == 0, "chord");
  RowPreconditioner preconditioner(values / sum, std::move(links));
  preconditioner.set_numbers(saved.array("preconditioner"));
  return preconditioner;
}

bool consistent(const FitState& state, const ResumeState& saved, Index values, bool sampled) {
  const bool adam = state.phase == FitState::Phase::kAdam;
  const Index counts[] = {state.descent,
                          state.earlier_count,
                          state.earlier_halvings,
                          state.adam_step,
                          state.iteration,
                          state.newton_step,
                          state.halvings};
  for (const Index count : counts) {
    if (count < 0 || count > kLargestCount) return false;
  }
  if (sampled && !adam) return false;
  const auto is_vector = [&](const char* name, bool needed) {
    const Index size = saved.array_size(name);
    return size == values || (size == 0 && !needed);
  };
  return std::isfinite(state.damping) && state.damping >= 0 &&
         std::isfinite(state.damping_growth) && state.damping_growth >= 0 &&
         (state.damping == 0 || state.damping_growth >= 2) && is_vector("mean", adam) &&
         is_vector("square", adam && !is_preconditioned(saved)) &&
         (state.costs.size() == 0 || state.costs.size() == state.iteration + 1);
}

}  // namespace

Vector numbers_of(const MultiVector& vector) {
  Vector numbers(vector.size());
  if (vector.size() > 0) vector.space()->read(vector.data(), vector.size(), numbers.data());
  return numbers;
}

MultiVector vector_at(const std::shared_ptr<const MemorySpace>& space, const Vector& numbers) {
  return numbers.size() > 0 ? MultiVector(space, numbers) : MultiVector();
}

MultiVector saved_vector(const std::shared_ptr<const MemorySpace>& space,
                         const ResumeState& saved,
                         const std::string& name) {
  const Index size = saved.array_size(name);
  if (size == 0) return {};
  MultiVector vector(space, size, 1);
  saved.copy_array(name, vector.columns());
  return vector;
}

bool is_finite(const MultiVector& vector) {
  return vector.size() == 0 || std::isfinite(vector.space()->largest(vector.data(), vector.size()));
}

namespace {

/// Number of links of each factor, and all offsets, as floating-point numbers.
std::pair<Vector, Vector> pattern_numbers(const ChordPattern& pattern) {
  Vector links(pattern.factors());
  Vector offsets(pattern.stored_numbers() / pattern.order);
  Index at = 0;
  for (Index m = 0; m < pattern.factors(); ++m) {
    links(m) = static_cast<double>(pattern.links(m));
    for (const Index offset : pattern.offsets[static_cast<std::size_t>(m)])
      offsets(at++) = static_cast<double>(offset);
  }
  return {links, offsets};
}

ChordPattern pattern_of(const Vector& links, const Vector& offsets, Index order) {
  const auto are_counts = [](const Vector& numbers) {
    return ((numbers.array() >= 0) && (numbers.array() < 1e15)).all();
  };
  require_consistent(are_counts(links) && are_counts(offsets) &&
                         links.sum() == static_cast<double>(offsets.size()),
                     "chord");
  ChordPattern pattern{order, {}};
  Index at = 0;
  for (const double count : links) {
    auto& list = pattern.offsets.emplace_back();
    for (Index k = 0; k < static_cast<Index>(count); ++k)
      list.push_back(static_cast<Index>(offsets(at++)));
  }
  pattern.validate();
  return pattern;
}

Vector as_numbers(const std::vector<Index>& indices) {
  return Eigen::Map<const Eigen::Matrix<Index, Eigen::Dynamic, 1>>(
             indices.data(), static_cast<Index>(indices.size()))
      .cast<double>();
}

/// Converts numbers to a permutation. Throws InvalidArgument unless it is one of 0 .. order-1.
std::vector<Index> as_permutation(const Vector& numbers, Index order) {
  require_consistent(numbers.size() == order && (numbers.array() >= 0).all() &&
                         (numbers.array() < static_cast<double>(order)).all(),
                     "chord");
  const Permutation permutation(std::vector<Index>(numbers.begin(), numbers.end()));
  return permutation.sources();
}

void save(const Ordering& ordering, const std::string& name, ResumeState& saved) {
  saved.arrays.emplace_back(name + "_rows", as_numbers(ordering.rows));
  saved.arrays.emplace_back(name + "_columns", as_numbers(ordering.columns));
}

std::shared_ptr<const Ordering> load_ordering(const ResumeState& saved,
                                              const std::string& name,
                                              Index order) {
  return std::make_shared<const Ordering>(
      Ordering{as_permutation(saved.array(name + "_rows"), order),
               as_permutation(saved.array(name + "_columns"), order)});
}

/// Name of the counter of a saved ordering (1 if there is one) and prefix of its arrays.
std::string ordering_name(ChordOrder kind) { return fmt::format("order_{}", enum_name(kind)); }

constexpr std::array kSavedOrders{ChordOrder::kRcm, ChordOrder::kSpectral, ChordOrder::kHop};

}  // namespace

FormStart saved_start(const ResumeState& saved, Index order) {
  FormStart start;
  if (saved.counter("warm") != 0) {
    start.pattern = pattern_of(saved.array("start_links"), saved.array("start_offsets"), order);
    if (saved.counter("start_ordered") != 0) start.ordering = load_ordering(saved, "start", order);
  }
  for (const ChordOrder kind : kSavedOrders) {
    if (saved.counter(ordering_name(kind)) != 0)
      start.known.emplace_back(kind, load_ordering(saved, ordering_name(kind), order));
  }
  return start;
}

namespace {

void save(const FormStart& start, ResumeState& saved) {
  if (start.pattern) {
    auto [links, offsets] = pattern_numbers(*start.pattern);
    saved.arrays.emplace_back("start_links", std::move(links));
    saved.arrays.emplace_back("start_offsets", std::move(offsets));
    saved.counters.emplace_back("start_ordered", start.ordering ? 1 : 0);
    if (start.ordering) save(*start.ordering, "start", saved);
  }
  for (const ChordOrder kind : kSavedOrders) {
    const auto found = std::find_if(start.known.begin(), start.known.end(), [&](const auto& known) {
      return known.first == kind;
    });
    saved.counters.emplace_back(ordering_name(kind), found == start.known.end() ? 0 : 1);
    if (found != start.known.end()) save(*found->second, ordering_name(kind), saved);
  }
}

}  // namespace

void save(const FitState& state, ResumeState& saved) {
  saved.counters.emplace_back("phase", static_cast<Index>(state.phase));
  saved.counters.emplace_back("descent", state.descent);
  saved.counters.emplace_back("form", state.form);
  saved.counters.emplace_back("coarse", state.coarse ? 1 : 0);
  saved.counters.emplace_back("earlier_count", state.earlier_count);
  saved.counters.emplace_back("earlier_halvings", state.earlier_halvings);
  saved.counters.emplace_back("warm", state.warm ? 1 : 0);
  saved.counters.emplace_back("adam_step", state.adam_step);
  saved.counters.emplace_back("halvings", state.halvings);
  saved.counters.emplace_back("iteration", state.iteration);
  saved.counters.emplace_back("newton_step", state.newton_step);
  saved.add_columns("point", state.point.columns());
  saved.add_columns("mean", state.mean.columns());
  saved.add_columns("square", state.square.columns());
  saved.arrays.emplace_back("costs", state.costs);
  save(state.start, saved);
  if (!state.preconditioner.empty()) {
    const std::vector<Index>& links = state.preconditioner.links();
    saved.arrays.emplace_back(
        "preconditioner_links",
        Eigen::Map<const Eigen::Matrix<Index, Eigen::Dynamic, 1>>(links.data(), std::ssize(links))
            .cast<double>());
    saved.arrays.emplace_back("preconditioner", state.preconditioner.numbers());
  }
  saved.arrays.emplace_back("damping", Eigen::Vector2d(state.damping, state.damping_growth));
}

FitState load_fit_state(const ResumeState& saved,
                        std::span<const Index> numbers,
                        bool sampled,
                        const std::shared_ptr<const MemorySpace>& space) {
  const Index phase = saved.counter("phase");
  const Vector damping = saved.array("damping");
  require_consistent(phase >= 0 && phase < kPhases && damping.size() == 2, "chord");
  FitState state;
  state.phase = static_cast<FitState::Phase>(phase);
  state.descent = saved.counter("descent");
  state.form = saved.counter("form");
  state.coarse = saved.counter("coarse") != 0 && space->on_host();
  state.earlier_count = saved.counter("earlier_count");
  state.earlier_halvings = saved.counter("earlier_halvings");
  state.warm = saved.counter("warm") != 0;
  state.adam_step = saved.counter("adam_step");
  state.halvings = saved.counter("halvings");
  state.iteration = saved.counter("iteration");
  state.costs = saved.array("costs");
  state.newton_step = saved.counter("newton_step");
  state.damping = damping(0);
  state.damping_growth = damping(1);
  require_consistent(state.form >= 0 && state.form < static_cast<Index>(numbers.size()), "chord");
  const Index values = numbers[static_cast<std::size_t>(state.form)];
  require(saved.array_size("point") == values,
          "chord: the state to resume has {} values; this fit has {}",
          saved.array_size("point"),
          values);
  require_consistent(consistent(state, saved, values, sampled), "chord");
  state.point = saved_vector(space, saved, "point");
  require_consistent(is_finite(state.point), "chord");
  state.mean = saved_vector(space, saved, "mean");
  state.square = saved_vector(space, saved, "square");
  if (is_preconditioned(saved)) {
    if (space->on_host()) {
      state.preconditioner = saved_preconditioner(saved, values);
    } else {
      start_adam(state);
    }
  }
  return state;
}

// ------------------------------------------------------------------------------------- Monitor

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
