#include "methods/chord/optimizers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/lbfgs.hpp"

namespace matapprox::chord_fit {

// ---------------------------------------------------------------------------------------- Adam

namespace {

constexpr double kMeanDecay = 0.95;
constexpr double kSquareDecay = 0.95;
constexpr double kEpsilon = 1e-12;

/// Relative error below which the rounding of floats would affect f.
constexpr double kFineError = 1e-3;

double step_size(Index t, Index T, double largest, Annealing annealing) {
  const double share = static_cast<double>(t) / static_cast<double>(T);
  const double cosine = (1 + std::cos(std::numbers::pi * share)) / 2;
  const double fall = annealing == Annealing::kCosine ? cosine : cosine * cosine;
  return largest * std::min(1.0, 20 * share) * fall;
}

/// Evaluates f at the state's point and offers it to the monitor if it and the gradient (unless
/// null) are finite. Returns whether they are.
bool evaluate(const FitState& state,
              const Objective& objective,
              MultiVector* gradient,
              FitMonitor& monitor) {
  const double f = objective(state.point.data(), gradient == nullptr ? nullptr : gradient->data());
  if (!std::isfinite(f) || (gradient != nullptr && !is_finite(*gradient))) {
    if (monitor.descent_has_best()) return false;
    throw NumericalError("chord: the objective or its gradient overflows at the start");
  }
  monitor.offer(state.point.columns(), state.form, f, state.count());
  return true;
}

/// Switches to doubles and re-evaluates f of the best point.
void turn_fine(FitState& state, const Objectives& objectives, FitMonitor& monitor) {
  monitor.restate_best_of_descent(objectives.in_doubles(monitor.best_of_descent().data(), nullptr));
  state.coarse = false;  // only now, in case the evaluation is stopped
}

bool needs_doubles(const FitState& state, const FitMonitor& monitor) {
  return state.coarse && (monitor.error_of_descent() < kFineError || monitor.reached_target());
}

}  // namespace

void start_adam(FitState& state) {
  const auto zeros = [&state] {
    MultiVector vector(state.point.space(), state.point.rows(), 1);
    vector.space()->zero(vector.data(), vector.size());
    return vector;
  };
  state.mean = zeros();
  state.square = state.preconditioner.empty() ? zeros() : MultiVector();
  state.preconditioner.reset();
}

void restart_from_best(FitState& state, const FitMonitor& monitor) {
  copy(monitor.best_of_descent().columns(), state.point.columns());
  // The means start again, but adam_step does not: its bias corrections are near 1 by now, so that
  // the k-th step after a restart is only sqrt(1 - 0.95^k) of a full one.
  start_adam(state);
  ++state.halvings;
  ++state.adam_step;
}

void take_adam_step(const MemorySpace& space,
                    const kernels::AdamStep& step,
                    const double* gradient,
                    Index count,
                    double* mean,
                    double* square,
                    double* x) {
  if (space.on_host()) return kernels::adam_step(step, gradient, count, mean, square, x);
  dynamic_cast<const AdamSpace&>(space).adam_step(step, gradient, count, mean, square, x);
}

void adam_step(FitState& state,
               const double* gradient,
               Index steps,
               double largest_step,
               Annealing annealing) {
  const Index t = ++state.adam_step;
  const auto power = static_cast<double>(t);
  const double mean_bias = 1 - std::pow(kMeanDecay, power);
  const double square_bias = 1 - std::pow(kSquareDecay, power);
  const auto halvings = static_cast<int>(std::min<Index>(state.halvings, 2000));
  const double step = std::ldexp(step_size(t, steps, largest_step, annealing), -halvings);
  const kernels::AdamStep adam{.mean_decay = kMeanDecay,
                               .square_decay = kSquareDecay,
                               .mean_step = step / mean_bias,
                               .square_scale = 1 / std::sqrt(square_bias),
                               .epsilon = kEpsilon};
  if (!state.preconditioner.empty()) {
    state.preconditioner.step(adam, t, gradient, state.mean.data(), state.point.data());
    return;
  }
  take_adam_step(*state.point.space(),
                 adam,
                 gradient,
                 state.point.size(),
                 state.mean.data(),
                 state.square.data(),
                 state.point.data());
}

std::optional<Termination> run_adam(FitState& state,
                                    const Objectives& objectives,
                                    Index steps,
                                    FitMonitor& monitor,
                                    const RunControl& control) {
  MultiVector gradient(state.point.space(), state.point.rows(), 1);
  const double largest_step = state.preconditioner.empty() ? kExactStep : kPreconditionedStep;
  try {
    while (state.adam_step < steps) {
      const Objective& objective = state.coarse ? objectives.in_floats : objectives.in_doubles;
      const bool finite = evaluate(state, objective, &gradient, monitor);
      if (needs_doubles(state, monitor)) {
        turn_fine(state, objectives, monitor);
        continue;  // takes this step from the gradient in doubles, as a resumed fit would
      }
      if (const auto reason = monitor.verdict()) return reason;
      if (finite) {
        adam_step(state, gradient.data(), steps, largest_step, Annealing::kCosine);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    evaluate(state, state.coarse ? objectives.in_floats : objectives.in_doubles, nullptr, monitor);
    if (state.coarse) turn_fine(state, objectives, monitor);
  } catch (const Interrupted&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
    return monitor.verdict();
  }
  state.phase = FitState::Phase::kLbfgs;
  copy(monitor.best_of_descent().columns(), state.point.columns());
  state.mean = {};
  state.square = {};
  state.preconditioner = {};
  state.costs = Vector::Constant(1, monitor.best_objective_of_descent());
  return monitor.verdict();
}

// ------------------------------------------------------------------ Adam on samples of columns

namespace {

constexpr Index kEstimates = 100;  // error estimates per descent

/// Multiple of the best estimate of f so far, that is, twice its error, above which the steps are
/// too large. The noise that Adam's steps leave grows with the order; a smaller multiple would also
/// stop steps that the annealing would have made pay off (2, 4 and 8 were tried on kernel matrices
/// of orders 2048 and 5000).
constexpr double kDivergenceRatio = 4;

/// Offers the point to the monitor if its estimate is finite. Returns whether to continue from it.
bool show(const FitState& state,
          const SampledObjective& objective,
          const ColumnSample& sample,
          FitMonitor& monitor) {
  const double f = objective(sample.validation(), state.point.data(), nullptr);
  if (std::isfinite(f)) {
    monitor.offer(state.point.columns(), state.form, f, state.count());
    return f <= kDivergenceRatio * monitor.best_objective_of_descent();
  }
  if (monitor.descent_has_best()) return false;
  throw NumericalError("chord: the objective overflows at the start");
}

}  // namespace

std::optional<Termination> run_sampled_adam(FitState& state,
                                            const SampledObjective& objective,
                                            ColumnSample& sample,
                                            Index steps,
                                            FitMonitor& monitor,
                                            const RunControl& control) {
  const Index interval = std::max<Index>(steps / kEstimates, 1);
  MultiVector gradient(state.point.space(), state.point.rows(), 1);
  try {
    while (state.adam_step < steps) {
      bool good = true;
      if (state.adam_step % interval == 0) good = show(state, objective, sample, monitor);
      if (const auto reason = monitor.verdict()) return reason;
      const double f = objective(sample.step(state.adam_step), state.point.data(), gradient.data());
      if (good && std::isfinite(f) && is_finite(gradient)) {
        adam_step(state, gradient.data(), steps, kSampledStep, Annealing::kSquaredCosine);
      } else {
        restart_from_best(state, monitor);
      }
      monitor.checkpoint(state);
    }
    show(state, objective, sample, monitor);
  } catch (const Interrupted&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
  }
  return monitor.verdict();
}

// -------------------------------------------------------------------------------------- L-BFGS

namespace {

constexpr Index kStagnationWindow = 200;

/// Evaluates f at the start of L-BFGS without Adam.
void evaluate_start(FitState& state, const Objective& objective, FitMonitor& monitor) {
  const double f = objective(state.point.data(), nullptr);
  if (!std::isfinite(f)) throw NumericalError("chord: the objective overflows at the start");
  monitor.offer(state.point.columns(), state.form, f, state.count());
  state.costs = Vector::Constant(1, f);
}

}  // namespace

bool stagnates(const Vector& costs, double tolerance) {
  const Index last = costs.size() - 1;
  if (last < kStagnationWindow) return false;
  const double before = costs(last - kStagnationWindow);
  return before - costs(last) < tolerance * before;
}

std::optional<Termination> run_lbfgs_segment(FitState& state,
                                             const Objective& objective,
                                             const LbfgsSettings& settings,
                                             FitMonitor& monitor) {
  const Index length = std::min(settings.segment, settings.max_iterations - state.iteration);
  Lbfgs lbfgs(objective,
              state.point.columns(),
              std::min(settings.memory, length),
              state.iteration == 0 ? settings.first_change : 0);
  Vector costs = state.costs;
  Index taken = 0;
  for (;;) {
    if (const auto reason = monitor.verdict()) return reason;
    if (stagnates(costs, settings.tolerance)) return Termination::kConverged;
    monitor.checkpoint(state);
    if (taken == length || !lbfgs.step()) break;
    ++taken;
    costs.conservativeResize(costs.size() + 1);
    costs(costs.size() - 1) = lbfgs.value();
    monitor.offer(lbfgs.point(), state.form, lbfgs.value(), state.count() + taken);
  }
  // No step from a fresh start decreases f: rounding or a stationary point is reached.
  if (taken == 0) return Termination::kConverged;
  copy(lbfgs.point(), state.point.columns());
  state.iteration += taken;
  state.costs = std::move(costs);
  return std::nullopt;
}

Termination run_lbfgs(FitState& state,
                      const Objective& objective,
                      const LbfgsSettings& settings,
                      FitMonitor& monitor,
                      const RunControl& control,
                      const LbfgsSegment& run_segment) {
  try {
    if (state.costs.size() == 0) evaluate_start(state, objective, monitor);
    if (const auto reason = monitor.verdict()) return *reason;
    while (state.iteration < settings.max_iterations) {
      if (const auto reason = run_segment(state, objective, settings, monitor)) return *reason;
      monitor.checkpoint(state);
    }
  } catch (const Interrupted&) {
    if (!monitor.has_best()) control.throw_if_stopped("chord");
    return monitor.verdict().value_or(Termination::kInterrupted);  // the stop request was withdrawn
  }
  return Termination::kMaxIterations;
}

// -------------------------------------------------------------------------------- Gauss-Newton

namespace {

FactorPlace place_of(const ChordPattern& chain, Index m, const double* values) {
  const Index n = chain.order;
  const std::vector<Index>& offsets = chain.offsets[static_cast<std::size_t>(m)];
  FactorPlace place{{n, {offsets}}, values, Matrix(n, n), Matrix(n, n), {}, {}};
  for (Index i = 0; i < n; ++i) {
    for (const Index offset : offsets) {
      place.rows.push_back(i);
      place.columns.push_back((i + offset) % n);
    }
  }
  return place;
}

}  // namespace

std::vector<FactorPlace> places_of(const ChordPattern& pattern, const double* values) {
  const Index n = pattern.order;
  std::vector<FactorPlace> places;
  for (Index m = 0; m < pattern.factors(); ++m) {
    places.push_back(place_of(pattern, m, values + pattern.first_value(m)));
  }
  // Computes L_{m+1}^T = W_m^T L_m^T and T_{m-1} = W_m T_m; both are stored transposed.
  Matrix product = Matrix::Identity(n, n);
  Matrix next(n, n);
  for (FactorPlace& place : places) {
    place.left = product.transpose();
    kernels::chord_apply_transpose(place.pattern, place.values, product, next);
    product.swap(next);
  }
  product.setIdentity();
  for (std::size_t m = places.size(); m-- > 0;) {
    FactorPlace& place = places[m];
    place.right = product.transpose();
    kernels::chord_apply(place.pattern, place.values, product, next);
    product.swap(next);
  }
  return places;
}

namespace {

/// Computes the block of J^T J for the numbers of two factors.
void fill_block(const FactorPlace& a, const FactorPlace& b, bool symmetrized, Block result) {
  const Matrix left = kernels::transpose_product(a.left, b.left);
  const Matrix right = kernels::transpose_product(a.right, b.right);
  for (std::size_t q = 0; q < b.rows.size(); ++q) {
    const double* left_column = left.col(b.rows[q]).data();
    const double* right_column = right.col(b.columns[q]).data();
    double* to = result.col(static_cast<Index>(q)).data();
    for (std::size_t p = 0; p < a.rows.size(); ++p) {
      to[p] = left_column[a.rows[p]] * right_column[a.columns[p]];
    }
  }
  if (!symmetrized) return;
  const Matrix left_right = kernels::transpose_product(a.left, b.right);
  const Matrix right_left = kernels::transpose_product(a.right, b.left);
  for (std::size_t q = 0; q < b.rows.size(); ++q) {
    const double* left_column = left_right.col(b.columns[q]).data();
    const double* right_column = right_left.col(b.rows[q]).data();
    double* to = result.col(static_cast<Index>(q)).data();
    for (std::size_t p = 0; p < a.rows.size(); ++p) {
      to[p] = (to[p] + left_column[a.rows[p]] * right_column[a.columns[p]]) / 2;
    }
  }
}

}  // namespace

void gauss_newton_matrix(const Form& form, const double* values, Matrix& result) {
  const ChordPattern& pattern = form.pattern;
  const std::vector<FactorPlace> places = places_of(pattern, values);
  result.resize(pattern.stored_numbers(), pattern.stored_numbers());
  const Index M = pattern.factors();
  parallel_for(M * M, [&](Index pair) {
    const Index m = pair / M;
    const Index q = pair % M;
    if (m < q) return;  // above the diagonal
    const FactorPlace& a = places[static_cast<std::size_t>(m)];
    const FactorPlace& b = places[static_cast<std::size_t>(q)];
    fill_block(
        a,
        b,
        form.symmetrized(),
        result.block(pattern.first_value(m), pattern.first_value(q), a.numbers(), b.numbers()));
  });
}

// ------------------------------------------------------------------------- Levenberg-Marquardt

namespace {

constexpr double kMinDiagonal = 1e-8;  // least entry of D relative to the mean

/// Linearization of f at one point. It is allocated once and moved, because its two matrices take
/// up to 100 MB.
struct Linearization {
  double f = 0;
  Vector gradient;
  Matrix normal;    ///< J^T J, lower triangle
  Vector diagonal;  ///< D
  Matrix cholesky;  ///< Cholesky factor of the damped matrix

  explicit Linearization(Index size) : gradient(size), normal(size, size), cholesky(size, size) {}

  void move_to(const Vector& point, const Form& form, const Objective& objective) {
    f = objective(point.data(), gradient.data());
    gauss_newton_matrix(form, point.data(), normal);
    diagonal = normal.diagonal();
    diagonal = diagonal.cwiseMax(kMinDiagonal * diagonal.mean()).eval();
  }

  bool is_finite() const {
    return std::isfinite(f) && gradient.allFinite() && diagonal.allFinite();
  }
};

/// Solves (J^T J + damping D) d = -g for d; nothing if rounding makes the matrix indefinite.
std::optional<Vector> damped_step(Linearization& at, double damping) {
  Matrix& L = at.cholesky;
  L = at.normal;
  L.diagonal() += damping * at.diagonal;
  if (!kernels::cholesky(L)) return std::nullopt;
  Vector step = -at.gradient;
  L.triangularView<Eigen::Lower>().solveInPlace(step);
  L.triangularView<Eigen::Lower>().transpose().solveInPlace(step);
  return step;
}

void raise_damping(FitState& state) {
  state.damping *= state.damping_growth;
  state.damping_growth *= 2;
}

/// Tries steps of increasing damping until one lowers f, moves the point there and returns the new
/// f.
std::optional<double> descend(FitState& state,
                              Vector& point,
                              Linearization& at,
                              const Objective& objective) {
  for (; state.damping <= kLargestDamping; raise_damping(state)) {
    const auto step = damped_step(at, state.damping);
    if (!step) continue;
    const Vector next = point + *step;
    const double f = objective(next.data(), nullptr);
    const double fall = at.f - f;  // NaN where f overflows
    if (!(fall > 0)) continue;
    const double expected =
        0.5 * step->dot(state.damping * at.diagonal.cwiseProduct(*step) - at.gradient);
    const double agreement = 2 * fall / expected - 1;
    state.damping *= std::max(1.0 / 3, 1 - agreement * agreement * agreement);
    state.damping_growth = 2;
    point = next;
    return f;
  }
  return std::nullopt;
}

}  // namespace

Termination run_levenberg_marquardt(FitState& state,
                                    const Form& form,
                                    const Objective& placed_objective,
                                    Index steps,
                                    FitMonitor& monitor) {
  if (state.damping == 0) {
    state.damping = kFirstDamping;
    state.damping_growth = 2;
  }
  const Index size = state.point.size();
  const Objective objective = for_host(placed_objective, state.point.space(), size);
  Vector point = numbers_of(state.point);
  Linearization at(steps > state.newton_step ? size : 0);
  try {
    while (state.newton_step < steps) {
      at.move_to(point, form, objective);
      if (!at.is_finite()) return Termination::kConverged;
      const auto f = descend(state, point, at, objective);
      if (!f) return Termination::kConverged;
      ++state.newton_step;
      state.point.space()->write(point.data(), size, state.point.data());
      monitor.offer(state.point.columns(), state.form, *f, state.count());
      if (const auto reason = monitor.verdict()) return *reason;
      if (at.f - *f <= kMinFall * at.f) return Termination::kConverged;
      monitor.checkpoint(state);
    }
  } catch (const Interrupted&) {
    return *monitor.verdict();
  }
  return Termination::kMaxIterations;
}

}  // namespace matapprox::chord_fit
