#include <ceres/cost_function.h>
#include <ceres/evaluation_callback.h>
#include <ceres/first_order_function.h>
#include <ceres/gradient_problem.h>
#include <ceres/gradient_problem_solver.h>
#include <ceres/iteration_callback.h>
#include <ceres/problem.h>
#include <ceres/solver.h>
#include <ceres/version.h>
#include <glog/logging.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "kernels/blas_library.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/kernels/chord.hpp"
#include "methods/chord/optimizers.hpp"

namespace matapprox::chord_fit {
namespace {

/// Silences the log of Ceres, which writes some failures to the error stream whatever its options
/// are. The caller can see all of them in its summary.
class QuietLog {
 public:
  QuietLog() {
    const std::lock_guard lock(mutex());
    if (count()++ == 0) level_before() = std::exchange(FLAGS_minloglevel, google::GLOG_FATAL);
  }
  ~QuietLog() {
    const std::lock_guard lock(mutex());
    if (--count() == 0) FLAGS_minloglevel = level_before();
  }
  QuietLog(const QuietLog&) = delete;
  QuietLog& operator=(const QuietLog&) = delete;

 private:
  static std::mutex& mutex() {
    static std::mutex one;
    return one;
  }
  static int& count() {
    static int users = 0;
    return users;
  }
  static int& level_before() {
    static int level = 0;
    return level;
  }
};

/// Holds the first exception of a callback until Ceres has returned, because the code of Ceres is
/// not written for exceptions.
class Exceptions {
 public:
  /// Runs `work` unless earlier work threw. Returns false if either threw.
  template <class Work>
  bool hold(const Work& work) {
    if (first_) return false;
    try {
      work();
    } catch (...) {
      first_ = std::current_exception();
    }
    return !first_;
  }
  void rethrow() const {
    if (first_) std::rethrow_exception(first_);
  }

 private:
  std::exception_ptr first_;
};

/// Callback of both engines that informs the monitor after each iteration. Ceres updates the point
/// first.
class Watch : public ceres::IterationCallback {
 public:
  Watch(const FitState& state, const Vector& point, FitMonitor& monitor, Exceptions& exceptions)
      : state_(state),
        point_(point),
        placed_(state.point.space(), point.size(), 1),
        monitor_(monitor),
        exceptions_(exceptions) {}

  ceres::CallbackReturnType operator()(const ceres::IterationSummary& step) final {
    bool goes_on = false;
    exceptions_.hold([&] {
      if (step.iteration > 0 && step.step_is_successful) {
        ++taken_;
        offer(step.cost);
      }
      reason_ = monitor_.verdict();
      if (!reason_) reason_ = own_verdict();
      if (reason_) return;
      monitor_.checkpoint(state_);
      goes_on = !is_over();
    });
    return goes_on ? ceres::SOLVER_CONTINUE : ceres::SOLVER_TERMINATE_SUCCESSFULLY;
  }

  Index taken() const { return taken_; }
  /// The point after the taken steps, if there were any.
  ConstMultiVectorView last() const { return placed_.columns(); }
  /// Reason why the fit ends, if it does.
  const std::optional<Termination>& reason() const { return reason_; }

 protected:
  virtual void note(double /*cost*/) {}
  virtual std::optional<Termination> own_verdict() const { return std::nullopt; }
  /// True if enough steps were taken.
  virtual bool is_over() const { return false; }

 private:
  void offer(double cost) {
    note(cost);
    placed_.space()->write(point_.data(), point_.size(), placed_.data());
    monitor_.offer(placed_.columns(), state_.form, cost, state_.count() + taken_);
  }

  const FitState& state_;
  const Vector& point_;
  MultiVector placed_;
  FitMonitor& monitor_;
  Exceptions& exceptions_;
  Index taken_ = 0;
  std::optional<Termination> reason_;
};

/// The objective in the interface that Ceres requires.
class SmoothFunction final : public ceres::FirstOrderFunction {
 public:
  SmoothFunction(const Objective& objective, Index size, Exceptions& exceptions)
      : objective_(objective), size_(size), exceptions_(exceptions) {}

  bool Evaluate(const double* x, double* f, double* gradient) const override {
    const bool done = exceptions_.hold([&] { *f = objective_(x, gradient); });
    return done && std::isfinite(*f) &&
           (gradient == nullptr || Eigen::Map<const Vector>(gradient, size_).allFinite());
  }
  int NumParameters() const override { return static_cast<int>(size_); }

 private:
  const Objective& objective_;
  Index size_;
  Exceptions& exceptions_;
};

class LbfgsWatch final : public Watch {
 public:
  LbfgsWatch(const FitState& state,
             const Vector& point,
             double tolerance,
             FitMonitor& monitor,
             Exceptions& exceptions)
      : Watch(state, point, monitor, exceptions), tolerance_(tolerance), costs_(state.costs) {}

  const Vector& costs() const { return costs_; }

 private:
  void note(double cost) override {
    costs_.conservativeResize(costs_.size() + 1);
    costs_(costs_.size() - 1) = cost;
  }
  std::optional<Termination> own_verdict() const override {
    if (stagnates(costs_, tolerance_)) return Termination::kConverged;
    return std::nullopt;
  }

  double tolerance_;
  Vector costs_;
};

/// The chain at the point that Ceres evaluates next, and the derivatives of its product.
class ChainPoint final : public ceres::EvaluationCallback {
 public:
  ChainPoint(const Form& form, const Target& target, const Vector& values, Exceptions& exceptions)
      : form_(form), values_(values), exceptions_(exceptions), order_(form.pattern.order) {
    rows_of_target_.resize(static_cast<std::size_t>(order_ * order_));
    target.columns(0, order_, rows_of_target_.data());
  }

  const ChordPattern& pattern() const { return form_.pattern; }
  bool is_symmetrized() const { return form_.symmetrized(); }
  bool is_good() const { return is_good_; }

  void PrepareForEvaluation(bool wants_derivatives, bool is_new) override {
    is_good_ = exceptions_.hold([&] {
      if (is_new || Z_.size() == 0) {
        Z_.resize(order_, order_);
        const Matrix I = Matrix::Identity(order_, order_);
        kernels::chord_apply(form_.pattern, values_.data(), I, Z_);
      }
      if (wants_derivatives) places_ = places_of(form_.pattern, values_.data());
    });
    is_good_ = is_good_ && Z_.allFinite();
  }

  /// Computes row i of Z - A.
  void residuals(Index i, double* out) const {
    const double* a = rows_of_target_.data() + i * order_;
    for (Index c = 0; c < order_; ++c)
      out[c] = (is_symmetrized() ? (Z_(i, c) + Z_(c, i)) / 2 : Z_(i, c)) - a[c];
  }

  /// Computes the derivatives of row i of Z with respect to the numbers of row r of factor m,
  /// row-major.
  void derivatives(Index i, Index m, Index r, double* out) const {
    const FactorPlace& place = places_[static_cast<std::size_t>(m)];
    const Index links = form_.pattern.links(m);
    for (Index k = 0; k < links; ++k) {
      const Index j = place.columns[static_cast<std::size_t>(r * links + k)];
      const double left = place.left(i, r);
      for (Index c = 0; c < order_; ++c) {
        const double along = left * place.right(c, j);
        out[c * links + k] =
            is_symmetrized() ? (along + place.left(c, r) * place.right(i, j)) / 2 : along;
      }
    }
  }

 private:
  const Form& form_;
  const Vector& values_;
  Exceptions& exceptions_;
  Index order_;
  std::vector<double> rows_of_target_;
  Matrix Z_;
  std::vector<FactorPlace> places_;
  bool is_good_ = false;
};

/// A row of a factor; its numbers are one parameter block.
struct FactorRow {
  Index factor;
  Index row;
};

/// Row i of Z - A as a function of the rows of the factors that it depends on.
class RowOfResiduals final : public ceres::CostFunction {
 public:
  RowOfResiduals(const ChainPoint& at, Index i, std::vector<FactorRow> rows)
      : at_(at), i_(i), rows_(std::move(rows)) {
    set_num_residuals(static_cast<int>(at.pattern().order));
    for (const FactorRow& row : rows_) {
      mutable_parameter_block_sizes()->push_back(static_cast<int>(at.pattern().links(row.factor)));
    }
  }

  bool Evaluate(const double* const* /*values*/,
                double* residuals,
                double** derivatives) const override {
    if (!at_.is_good()) return false;
    at_.residuals(i_, residuals);
    if (derivatives == nullptr) return true;
    for (std::size_t b = 0; b < rows_.size(); ++b) {
      if (derivatives[b] != nullptr)
        at_.derivatives(i_, rows_[b].factor, rows_[b].row, derivatives[b]);
    }
    return true;
  }

 private:
  const ChainPoint& at_;
  Index i_;
  std::vector<FactorRow> rows_;
};

/// Returns the rows of the factors on which row i of the product depends: those reached by paths
/// from i, or all if it is symmetrized.
std::vector<FactorRow> rows_behind(const ChordPattern& pattern, bool symmetrized, Index i) {
  const auto n = static_cast<std::size_t>(pattern.order);
  std::vector<bool> reached(n, symmetrized);
  reached[static_cast<std::size_t>(i)] = true;
  std::vector<FactorRow> rows;
  for (Index m = 0; m < pattern.factors(); ++m) {
    std::vector<bool> next(n, symmetrized);
    for (std::size_t r = 0; r < n; ++r) {
      if (!reached[r]) continue;
      rows.push_back({m, static_cast<Index>(r)});
      for (const Index offset : pattern.offsets[static_cast<std::size_t>(m)])
        next[(r + static_cast<std::size_t>(offset)) % n] = true;
    }
    reached = std::move(next);
  }
  return rows;
}

/// Largest density of the Jacobian, counting numbers that are not always zero, at which CHOLMOD is
/// used. At a density of two thirds (alternating links, order 36) it takes half of the time of the
/// dense solver, at 1 (the same, symmetrized) one and a half times as long.
constexpr double kSparseShare = 0.8;

/// The least-squares problem of one fit.
class RowProblem {
 public:
  RowProblem(ChainPoint& at, Vector& values) : problem_(options_with(at)) {
    const ChordPattern& pattern = at.pattern();
    double numbers = 0;
    std::vector<std::vector<FactorRow>> rows;
    for (Index i = 0; i < pattern.order; ++i) {
      rows.push_back(rows_behind(pattern, at.is_symmetrized(), i));
      for (const FactorRow& row : rows.back())
        numbers += static_cast<double>(pattern.order * pattern.links(row.factor));
    }
    const auto P = static_cast<double>(pattern.stored_numbers());
    const double all = static_cast<double>(pattern.order * pattern.order) * P;
    is_sparse_ = numbers <= kSparseShare * all;
    // Ceres holds the Jacobian, J^T J and its Cholesky factor.
    require_memory(8 * ((is_sparse_ ? numbers : all) + 2 * P * P),
                   "chord: Levenberg-Marquardt by Ceres");
    for (Index i = 0; i < pattern.order; ++i) {
      std::vector<double*> blocks;
      for (const FactorRow& row : rows[static_cast<std::size_t>(i)]) {
        blocks.push_back(values.data() + pattern.first_value(row.factor) +
                         row.row * pattern.links(row.factor));
      }
      problem_.AddResidualBlock(
          new RowOfResiduals(at, i, std::move(rows[static_cast<std::size_t>(i)])), nullptr, blocks);
    }
  }

  ceres::Problem& problem() { return problem_; }
  ceres::LinearSolverType linear_solver() const {
    return is_sparse_ ? ceres::SPARSE_NORMAL_CHOLESKY : ceres::DENSE_NORMAL_CHOLESKY;
  }

 private:
  static ceres::Problem::Options options_with(ceres::EvaluationCallback& callback) {
    ceres::Problem::Options options;
    options.evaluation_callback = &callback;
    return options;
  }

  ceres::Problem problem_;
  bool is_sparse_ = false;
};

/// Number of accepted steps between two points from which a fit can resume.
constexpr Index kNewtonSegment = 10;

class NewtonWatch final : public Watch {
 public:
  NewtonWatch(const FitState& state,
              const Vector& point,
              Index most,
              FitMonitor& monitor,
              Exceptions& exceptions)
      : Watch(state, point, monitor, exceptions), max_(most) {}

 private:
  bool is_over() const override { return taken() >= max_; }

  Index max_;
};

ceres::Solver::Options newton_options(ceres::LinearSolverType linear_solver, double damping) {
  ceres::Solver::Options options;
  options.trust_region_strategy_type = ceres::LEVENBERG_MARQUARDT;
  options.linear_solver_type = linear_solver;
  options.sparse_linear_algebra_library_type = ceres::SUITE_SPARSE;
  options.num_threads = 1;
  options.initial_trust_region_radius = 1 / damping;
  options.min_trust_region_radius = 1 / kLargestDamping;
  // The watch limits the accepted steps. Rejected ones are few, because each divides the radius by
  // twice as much as the one before. Steps whose Cholesky factorization fails count as invalid.
  options.max_num_iterations = 100000;
  options.max_num_consecutive_invalid_steps = 20;
  options.function_tolerance = kMinFall;
  options.gradient_tolerance = 0;
  options.parameter_tolerance = 0;
  options.logging_type = ceres::SILENT;
  options.update_state_every_iteration = true;
  return options;
}

}  // namespace

bool ceres_is_available() { return true; }

std::string ceres_version() { return CERES_VERSION_STRING; }

std::optional<Termination> run_ceres_lbfgs_segment(FitState& state,
                                                   const Objective& objective,
                                                   const LbfgsSettings& settings,
                                                   FitMonitor& monitor) {
  const QuietLog quiet;
  const Index size = state.point.size();
  const Index length = std::min(settings.segment, settings.max_iterations - state.iteration);
  const Objective on_host = for_host(objective, state.point.space(), size);
  Exceptions exceptions;
  Vector point = numbers_of(state.point);
  LbfgsWatch watch(state, point, settings.tolerance, monitor, exceptions);

  ceres::GradientProblemSolver::Options options;
  options.line_search_direction_type = ceres::LBFGS;
  options.line_search_type = ceres::WOLFE;
  options.max_lbfgs_rank = static_cast<int>(std::min(settings.memory, length));
  options.max_num_iterations = static_cast<int>(length);
  // Only our own stopping rule and rounding end the iteration.
  options.min_line_search_step_size = 1e-30;
  options.function_tolerance = 0;
  options.gradient_tolerance = 0;
  options.parameter_tolerance = 0;
  options.logging_type = ceres::SILENT;
  options.update_state_every_iteration = true;
  options.callbacks.push_back(&watch);
  const ceres::GradientProblem problem(new SmoothFunction(on_host, size, exceptions));
  ceres::GradientProblemSolver::Summary summary;
  ceres::Solve(options, problem, point.data(), &summary);

  exceptions.rethrow();
  if (watch.reason()) return watch.reason();
  // The line search finds no descent step from a fresh start: the point is stationary, or as near
  // to it as Ceres gets, which on chains of a few numbers is far above rounding.
  if (watch.taken() == 0) return Termination::kConverged;
  copy(watch.last(), state.point.columns());
  state.iteration += watch.taken();
  state.costs = watch.costs();
  return std::nullopt;
}

Termination run_ceres_levenberg_marquardt(
    FitState& state, const Form& form, const Target& target, Index steps, FitMonitor& monitor) {
  const QuietLog quiet;
  const kernels::SingleBlasThread single;
  if (state.damping == 0) {
    state.damping = kFirstDamping;
    state.damping_growth = 2;
  }
  Exceptions exceptions;
  Vector point = numbers_of(state.point);
  ChainPoint at(form, target, point, exceptions);
  RowProblem rows(at, point);
  while (state.newton_step < steps) {
    const Index most = std::min(kNewtonSegment, steps - state.newton_step);
    NewtonWatch watch(state, point, most, monitor, exceptions);
    ceres::Solver::Options options = newton_options(rows.linear_solver(), state.damping);
    options.callbacks.push_back(&watch);
    ceres::Solver::Summary summary;
    ceres::Solve(options, &rows.problem(), &summary);

    exceptions.rethrow();
    if (watch.reason()) return *watch.reason();
    if (watch.taken() > 0) copy(watch.last(), state.point.columns());
    state.newton_step += watch.taken();
    // The radius or f cannot decrease any further, whatever reason Ceres reports.
    if (watch.taken() < most) return Termination::kConverged;
    state.damping = 1 / summary.iterations.back().trust_region_radius;
    // Written in place, because the blocks of the problem are parts of this vector.
    state.point.space()->read(state.point.data(), point.size(), point.data());
    monitor.checkpoint(state);
  }
  return Termination::kMaxIterations;
}

}  // namespace matapprox::chord_fit
