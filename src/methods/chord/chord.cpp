#include "matapprox/methods/chord.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/require.hpp"
#include "kernels/chord.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "methods/chord/adam.hpp"
#include "methods/chord/balance.hpp"
#include "methods/chord/lbfgs.hpp"
#include "methods/chord/target.hpp"

namespace matapprox {
namespace {

using chord_fit::FitMonitor;
using chord_fit::FitState;

void check(const LinearOperator& A, const ChordOptions& options) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}, it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty, its order must be at least 1");
  require(options.adam_steps >= 0, "chord: adam_steps {} is negative", options.adam_steps);
  require(
      options.max_iterations >= 0, "chord: max_iterations {} is negative", options.max_iterations);
  require(options.memory >= 1 && options.memory <= 1000,
          "chord: memory {} is outside 1..1000",
          options.memory);
  require(options.tolerance >= 0 && options.tolerance < 1,
          "chord: tolerance {} is outside [0, 1)",
          options.tolerance);
}

void check_size(const ChordPattern& pattern, const ChordOptions& options) {
  const Index numbers = pattern.stored_numbers();
  require(numbers <= std::numeric_limits<int>::max(),
          "chord: the factors store {} numbers, the fit takes at most {}",
          numbers,
          std::numeric_limits<int>::max());
  const auto vectors = static_cast<double>(2 * (options.memory + 8));
  require_memory(8 * vectors * static_cast<double>(numbers), "chord: the fit");
}

/// W_m[i, 0] = 1/2 + z/10, W_m[i, k > 0] = 1/2 / (K_m - 1) + z/10: a product near the average of
/// staying and moving, with noise enough to leave the symmetric saddle.
Vector random_start(const ChordPattern& pattern, std::uint64_t seed) {
  Vector values(pattern.stored_numbers());
  for (Index m = 0; m < pattern.factors(); ++m) {
    const Index K = pattern.links(m);
    double* W = values.data() + pattern.first_value(m);
    for (Index i = 0; i < pattern.order; ++i) {
      for (Index k = 0; k < K; ++k) {
        const double mean = K == 1 ? 1.0 : k == 0 ? 0.5 : 0.5 / static_cast<double>(K - 1);
        const double z = random_normal(seed, RandomStream::kChordStart, m, i * K + k);
        W[i * K + k] = mean + 0.1 * z;
      }
    }
  }
  return values;
}

/// The caller's factors, in the scale of the target.
Vector warm_start(const ChordPattern& pattern, const ChordFactors& given, double unit) {
  require(given.pattern == pattern,
          "chord: the warm start has another pattern: {} factors of order {} with {} values, "
          "this fit has {} of order {} with {}",
          given.pattern.factors(),
          given.pattern.order,
          given.values.size(),
          pattern.factors(),
          pattern.order,
          pattern.stored_numbers());
  require(static_cast<Index>(given.values.size()) == pattern.stored_numbers(),
          "chord: the warm start has {} values, its pattern {}",
          given.values.size(),
          pattern.stored_numbers());
  Vector values = Eigen::Map<const Vector>(given.values.data(), pattern.stored_numbers());
  require(values.allFinite(), "chord: the warm start has NaN or Inf in it");
  chord_fit::balance(pattern, 1 / unit, values.data());
  return values;
}

/// Bounds the work that a resumed fit repeats: about a second on one core, but no fewer than 50
/// iterations, so that L-BFGS has time to gather its curvature pairs.
Index segment_length(const ChordPattern& pattern) {
  constexpr double kFlops = 2e10;
  const double flops_per_evaluation =
      6.0 * static_cast<double>(pattern.order) * static_cast<double>(pattern.stored_numbers());
  return static_cast<Index>(std::clamp(kFlops / flops_per_evaluation, 50.0, 1000.0));
}

/// One fit of one matrix.
class Fit {
 public:
  Fit(const LinearOperator& A, const ChordOptions& options, const RunControl& control)
      : options_(options),
        control_(control),
        pattern_(chord_pattern(A.rows(), options)),
        target_((check_size(pattern_, options), A), control),
        adam_steps_(options.warm_start ? 0 : options.adam_steps),
        monitor_(pattern_.order,
                 adam_steps_ + options.max_iterations,
                 control,
                 [this](const FitMonitor&) { return result(Termination::kInterrupted); }) {}

  Approximation run() {
    if (target_.unit() == 0) return zeros();
    FitState state = start();
    const Termination reason = minimise(state);
    if (reason == Termination::kInterrupted || reason == Termination::kMaxSeconds)
      monitor_.final_checkpoint(state);
    return result(reason);
  }

 private:
  FitState start() {
    if (control_.resume != nullptr && !control_.resume->empty()) {
      monitor_.load(*control_.resume);
      return chord_fit::load_fit_state(*control_.resume, pattern_.stored_numbers());
    }
    FitState state;
    state.point = options_.warm_start ? warm_start(pattern_, *options_.warm_start, target_.unit())
                                      : random_start(pattern_, options_.seed);
    if (adam_steps_ == 0) {
      state.phase = FitState::Phase::kLbfgs;
    } else {
      state.mean = Vector::Zero(state.point.size());
      state.square = Vector::Zero(state.point.size());
    }
    return state;
  }

  Termination minimise(FitState& state) {
    const kernels::TargetPanel columns = [this](Index first, Index count, double* panel) {
      if (control_.should_stop()) throw chord_fit::Stopped();
      target_.columns(first, count, panel);
    };
    const chord_fit::Objective objective = [&](const double* values, double* gradient) {
      return kernels::chord_objective(pattern_, values, columns, gradient);
    };
    if (state.phase == FitState::Phase::kAdam) {
      if (const auto reason = run_adam(state, objective, adam_steps_, monitor_, control_))
        return *reason;
    }
    const chord_fit::LbfgsSettings settings{
        options_.memory, options_.max_iterations, options_.tolerance, segment_length(pattern_)};
    halvings_ = state.halvings;
    return run_lbfgs(state, objective, settings, monitor_, control_);
  }

  Approximation result(Termination reason) const {
    std::vector<double> values(monitor_.best().begin(), monitor_.best().end());
    chord_fit::balance(pattern_, target_.unit(), values.data());
    return approximation(std::move(values), reason, message());
  }

  Approximation zeros() const {
    std::vector<double> values(static_cast<std::size_t>(pattern_.stored_numbers()), 0.0);
    return approximation(std::move(values), Termination::kCompleted, "the matrix is zero");
  }

  Approximation approximation(std::vector<double> values,
                              Termination reason,
                              std::string message) const {
    Summary summary;
    summary.method = "chord";
    summary.form = options_.offsets.empty() ? enum_name(options_.pattern) : "offsets";
    summary.termination = reason;
    summary.message = std::move(message);
    summary.iterations = monitor_.count();
    summary.seed = options_.seed;
    summary.history = monitor_.history();
    summary.options = list_options(options_);
    return {{make_factor("W", ChordFactors{pattern_, std::move(values)})}, std::move(summary)};
  }

  std::string message() const;

  const ChordOptions& options_;
  const RunControl& control_;
  ChordPattern pattern_;
  chord_fit::Target target_;
  Index adam_steps_;
  FitMonitor monitor_;
  Index halvings_ = 0;
};

/// "1, 2, 3, ... (17 in all)"
std::string first_few(const std::vector<Index>& numbers) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = std::min(numbers.size(), kShown);
  const auto text = fmt::format("{}", fmt::join(numbers.begin(), numbers.begin() + shown, ", "));
  return shown == numbers.size() ? text : fmt::format("{}, ... ({} in all)", text, numbers.size());
}

std::string Fit::message() const {
  std::vector<std::string> parts;
  ChordOptions plain = options_;
  plain.budget = {};
  if (chord_pattern(pattern_.order, plain).factors() != pattern_.factors())
    parts.push_back(fmt::format("{} factors, as many as the budget admits", pattern_.factors()));
  if (const auto missed = unreachable_distances(pattern_); !missed.empty()) {
    parts.push_back(fmt::format("the pattern cannot reach the distances (column - row) mod {}: {}",
                                pattern_.order,
                                first_few(missed)));
  }
  if (halvings_ > 0)
    parts.push_back(fmt::format("Adam's steps diverged and were halved {} times", halvings_));
  if (monitor_.best_error() > 1) parts.emplace_back("worse than the zero matrix");
  if (!monitor_.improved() && monitor_.count() > 0) parts.emplace_back("no better than its start");
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

void ChordOptions::visit(OptionVisitor& v) {
  v.visit_enum("pattern",
               pattern,
               "reference: links 0, 1, 2, 4 .. 2^(floor(log2 N) - 1), as the paper's code; paper: "
               "as its text, one link fewer where N is a power of two");
  v.visit("offsets",
          offsets,
          "own links (column - row) mod N: one list for all factors, 0,1,2,4, or one a factor, "
          "0,1;0,2;0,4");
  v.visit(
      "factors", factors, "number of factors; 0: ceil(log2 N), or as many as the budget admits");
  v.visit("budget", budget, "storage limit, e.g. 18432, 10% or 4MB; unset: the pattern's own size");
  v.visit("adam_steps",
          adam_steps,
          "annealed Adam steps before L-BFGS: 10000 for the best results; none after a warm start");
  v.visit("max_iterations", max_iterations, "L-BFGS iterations at most");
  v.visit("memory", memory, "L-BFGS correction pairs, 1..1000");
  v.visit("tolerance",
          tolerance,
          "L-BFGS stops at a smaller relative fall of the squared error in 200 iterations");
  v.visit("seed", seed, "seed of the random start");
}

Approximation chord(const LinearOperator& A,
                    const ChordOptions& options,
                    const RunControl& control) {
  check(A, options);
  return Fit(A, options, control).run();
}

}  // namespace matapprox
