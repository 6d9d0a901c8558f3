#include "methods/chord/fit_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "matapprox/core/require.hpp"
#include "methods/checkpoint_clock.hpp"
#include "methods/chord/adam.hpp"

namespace matapprox::chord_fit {

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

}  // namespace matapprox::chord_fit
