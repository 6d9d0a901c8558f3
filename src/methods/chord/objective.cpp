#include "methods/chord/objective.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/quantiles.hpp"
#include "device/processes.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox::chord_fit {

// ------------------------------------------------------------------------------- Drawn columns

namespace {

constexpr Index kMaxInSet = 256;

/// Fisher-Yates shuffle; `i` selects the permutation.
void permute(std::vector<Index>& list, std::uint64_t seed, Index i) {
  for (auto last = static_cast<Index>(list.size()) - 1; last > 0; --last) {
    const Index other = random_index(seed, RandomStream::kChordColumns, i, last, last + 1);
    std::swap(list[static_cast<std::size_t>(last)], list[static_cast<std::size_t>(other)]);
  }
}

}  // namespace

ColumnSample::ColumnSample(Index order, Index per_step, std::uint64_t seed)
    : per_step_(per_step), seed_(seed) {
  std::vector<Index> all(static_cast<std::size_t>(order));
  std::iota(all.begin(), all.end(), Index{0});
  permute(all, seed, 0);
  const Index in_set = std::min(order / 8, kMaxInSet);
  const auto first = all.begin() + in_set;
  validation_.assign(all.begin(), first);
  test_.assign(first, first + in_set);
  training_ = std::move(all);
  // For many kinds of matrix, neighbors in the list are neighbors in memory.
  std::sort(validation_.begin(), validation_.end());
  std::sort(test_.begin(), test_.end());
}

void ColumnSample::shuffle(Index epoch) {
  std::sort(training_.begin(), training_.end());
  permute(training_, seed_, epoch + 1);
  epoch_ = epoch;
}

std::vector<Index> ColumnSample::step(Index t) {
  const auto size = static_cast<Index>(training_.size());
  std::vector<Index> columns;
  for (Index p = t * per_step_; p < (t + 1) * per_step_; ++p) {
    if (p / size != epoch_) shuffle(p / size);
    columns.push_back(training_[static_cast<std::size_t>(p % size)]);
  }
  std::sort(columns.begin(), columns.end());
  return columns;
}

// -------------------------------------------------------------------------------------- Target

namespace {

constexpr Index kTargetPanelColumns = 64;
constexpr Index kLargestCopy = 4096;
/// Columns per panel of a sample, whose columns need not be in memory together. An even number, so
/// that each column begins at an address as aligned as in the whole sample.
constexpr std::size_t kSamplePanelColumns = 16;

bool copy_is_affordable(Index n) {
  const double bytes = 12.0 * static_cast<double>(n) * static_cast<double>(n);
  return n <= kLargestCopy && 2 * bytes <= static_cast<double>(available_memory_bytes());
}

Index order_of(const LinearOperator& A) {
  require(
      A.rows() == A.cols(), "chord: the matrix is {} x {}; it must be square", A.rows(), A.cols());
  require(A.rows() >= 1, "chord: the matrix is empty; its order must be at least 1");
  return A.rows();
}

void require_finite(const Matrix& panel, std::span<const Index> J) {
  if (panel.allFinite()) return;
  for (Index c = 0; c < panel.cols(); ++c) {
    for (Index i = 0; i < panel.rows(); ++i) {
      if (std::isfinite(panel(i, c))) continue;
      throw NumericalError(fmt::format("chord: entry ({}, {}) of the matrix, counted from 0, is {}",
                                       i,
                                       J[static_cast<std::size_t>(c)],
                                       panel(i, c)));
    }
  }
}

void store_row_major(const Matrix& panel, double* rows, Index stride) {
  for (Index i = 0; i < panel.rows(); ++i) {
    for (Index c = 0; c < panel.cols(); ++c) rows[i * stride + c] = panel(i, c);
  }
}

/// Computes |X|_F from panels of columns, with the bits of X.stableNorm(): uses the step that
/// Eigen 3.4 applies to each column.
class StableNormByPanels {
 public:
  void add(const Matrix& panel) {
    for (Index c = 0; c < panel.cols(); ++c)
      Eigen::internal::stable_norm_impl_inner_step(panel.col(c), squares_, scale_, inverse_);
  }
  double value() const { return scale_ * std::sqrt(squares_); }

 private:
  double squares_ = 0;  ///< sum of squares of the numbers over scale_
  double scale_ = 0;
  double inverse_ = 1;
};

}  // namespace

Target::Target(const LinearOperator& A, const RunControl& control) : A_(&A), order_(order_of(A)) {
  read_all(control);
}

Target::Target(const LinearOperator& A, std::span<const Index> sample, const RunControl& control)
    : A_(&A), order_(order_of(A)) {
  const StopScope scope(control, "chord");
  StableNormByPanels norm;
  for (std::size_t first = 0; first < sample.size(); first += kSamplePanelColumns) {
    const auto J = sample.subspan(first, std::min(kSamplePanelColumns, sample.size() - first));
    const Matrix panel = A.columns_at(J);
    require_finite(panel, J);
    norm.add(panel);
  }
  unit_ = norm.value() / std::sqrt(static_cast<double>(sample.size()));
  if (!std::isfinite(unit_))
    throw NumericalError("chord: the Frobenius norm of the matrix is beyond 1.8e308");
  if (unit_ == 0) read_all(control);
}

void Target::leave_gpu() { A_ = &A_->underlying(); }

void Target::read_all(const RunControl& control) {
  const StopScope scope(control, "chord");
  const Index n = order_;
  if (copy_is_affordable(n)) copy_.resize(static_cast<std::size_t>(n * n));
  const Index panels = (n + kTargetPanelColumns - 1) / kTargetPanelColumns;
  Vector norms(panels);
  parallel_for(panels, [&](Index p) {
    control.throw_if_stopped("chord");
    const Index first = p * kTargetPanelColumns;
    const Index count = std::min(kTargetPanelColumns, n - first);
    const auto J = index_range(first, count);
    const Matrix panel = A_->columns_at(J);
    require_finite(panel, J);
    norms(p) = panel.stableNorm();
    if (!copy_.empty()) store_row_major(panel, copy_.data() + first, n);
  });
  const double norm = norms.stableNorm();
  if (!std::isfinite(norm))
    throw NumericalError("chord: the Frobenius norm of the matrix is beyond 1.8e308");
  unit_ = norm / std::sqrt(static_cast<double>(n));
  if (unit_ > 0) {
    const Index row_numbers = copy_.empty() ? 0 : n;
    float_copy_.resize(copy_.size());
    parallel_for(row_numbers, [&](Index i) {
      double* row = copy_.data() + i * n;
      for (Index j = 0; j < n; ++j) row[j] /= unit_;
      std::copy_n(row, row_numbers, float_copy_.data() + i * row_numbers);
    });
  }
}

namespace {

/// Returns, for each place in the ordering `nodes`, the place of its node in the ordering with
/// inverse `places`. An empty vector stands for the natural order.
std::vector<Index> places_between(const std::vector<Index>& places,
                                  const std::vector<Index>& nodes,
                                  Index n) {
  std::vector<Index> between(static_cast<std::size_t>(n));
  for (std::size_t p = 0; p < between.size(); ++p) {
    const Index node = nodes.empty() ? static_cast<Index>(p) : nodes[p];
    between[p] = places.empty() ? node : places[static_cast<std::size_t>(node)];
  }
  return between;
}

template <class T>
void reorder(std::vector<T>& rows,
             const std::vector<Index>& old_rows,
             const std::vector<Index>& old_columns) {
  const auto n = static_cast<Index>(old_rows.size());
  std::vector<T> result(rows.size());
  parallel_for(n, [&](Index p) {
    const T* from = rows.data() + old_rows[static_cast<std::size_t>(p)] * n;
    T* to = result.data() + p * n;
    for (Index q = 0; q < n; ++q) to[q] = from[old_columns[static_cast<std::size_t>(q)]];
  });
  rows = std::move(result);
}

}  // namespace

void Target::follow(std::shared_ptr<const Ordering> ordering) {
  if (ordering == ordering_) return;
  ordering_ = std::move(ordering);
  const Ordering natural;
  const Ordering& next = ordering_ ? *ordering_ : natural;
  if (!copy_.empty()) {
    const std::vector<Index> old_rows = places_between(row_places_, next.rows, order_);
    const std::vector<Index> old_columns = places_between(column_places_, next.columns, order_);
    reorder(copy_, old_rows, old_columns);
    reorder(float_copy_, old_rows, old_columns);
  }
  row_places_ = node_order::inverse_of(next.rows);
  column_places_ = node_order::inverse_of(next.columns);
}

std::vector<Index> Target::places_of(std::span<const Index> columns) const {
  std::vector<Index> places(columns.begin(), columns.end());
  if (!ordering_) return places;
  for (Index& place : places) place = column_places_[static_cast<std::size_t>(place)];
  return places;
}

Matrix Target::ordered_columns(std::span<const Index> J) const {
  if (!ordering_) {
    Matrix columns = A_->columns_at(J);
    require_finite(columns, J);
    return columns;
  }
  std::vector<Index> columns(J.begin(), J.end());
  for (Index& column : columns) column = ordering_->columns[static_cast<std::size_t>(column)];
  const Matrix natural = A_->columns_at(columns);
  require_finite(natural, columns);
  Matrix ordered(natural.rows(), natural.cols());
  for (Index c = 0; c < natural.cols(); ++c) {
    for (Index p = 0; p < order_; ++p)
      ordered(p, c) = natural(ordering_->rows[static_cast<std::size_t>(p)], c);
  }
  return ordered;
}

void Target::columns(Index first, Index count, double* panel) const {
  if (!copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  store_row_major(ordered_columns(index_range(first, count)) / unit_, panel, count);
}

void Target::columns(Index first, Index count, float* panel) const {
  if (!float_copy_.empty()) {
    for (Index i = 0; i < order_; ++i) {
      std::copy_n(float_copy_.data() + i * order_ + first, count, panel + i * count);
    }
    return;
  }
  const Matrix columns = ordered_columns(index_range(first, count)) / unit_;
  for (Index i = 0; i < order_; ++i) {
    for (Index c = 0; c < count; ++c) panel[i * count + c] = static_cast<float>(columns(i, c));
  }
}

void Target::columns(std::span<const Index> J, double* panel) const {
  store_row_major(ordered_columns(J) / unit_, panel, static_cast<Index>(J.size()));
}

// ---------------------------------------------------------------------------------- Evaluation

namespace {

/// Returns the result of `work`. Throws Interrupted within a piece of a long loop once `control`
/// requests a stop.
template <class Work>
double unless_stopped(const RunControl& control, const Work& work) {
  const StopScope scope(control, "chord");
  return work();
}

}  // namespace

Evaluation::Evaluation(const Form& form,
                       const Target& target,
                       Index max_columns,
                       const RunControl& control,
                       const ChordObjectiveMaker& on_gpu)
    : form_(form), target_(target), control_(control), all_(index_range(0, form.pattern.order)) {
  const auto* source = source_of<ChordObjectiveSource>(target.matrix());
  if (source == nullptr && !(control.on_device && on_gpu)) return;
  const auto columns = [this](std::span<const Index> J, double* panel) {
    control_.throw_if_stopped("chord");
    target_.columns(J, panel);
  };
  const ChordTarget its_target{
      target.matrix(), target.unit(), columns, target.is_ordered(), form.symmetrized()};
  placed_ = source != nullptr ? source->chord_objective(form.pattern, max_columns, its_target)
                              : on_gpu(form.pattern, max_columns, its_target);
}

const std::shared_ptr<const MemorySpace>& Evaluation::space() const {
  return placed_ ? placed_->space() : host_space();
}

double Evaluation::in_place(std::span<const Index> J, const double* values, double* gradient) {
  control_.throw_if_stopped("chord");
  return unless_stopped(control_, [&] { return placed_->evaluate(J, values, gradient); });
}

double Evaluation::of_all(const double* values, double* gradient) {
  if (placed_) return in_place(all_, values, gradient);
  const kernels::TargetPanel panel = [this](Index first, Index count, double* out) {
    control_.throw_if_stopped("chord");
    target_.columns(first, count, out);
  };
  return unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern, values, panel, gradient, form_.form);
  });
}

double Evaluation::of_all_in_floats(const double* values, double* gradient) {
  const auto numbers = static_cast<std::size_t>(form_.pattern.stored_numbers());
  float_values_.assign(values, values + numbers);
  float_gradient_.resize(gradient == nullptr ? 0 : numbers);
  const kernels::TargetPanelOf<float> panel = [this](Index first, Index count, float* out) {
    control_.throw_if_stopped("chord");
    target_.columns(first, count, out);
  };
  const double f = unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern,
                                    float_values_.data(),
                                    panel,
                                    gradient == nullptr ? nullptr : float_gradient_.data(),
                                    form_.form);
  });
  if (gradient != nullptr) std::copy(float_gradient_.begin(), float_gradient_.end(), gradient);
  return f;
}

double Evaluation::of_sample(std::span<const Index> columns,
                             const double* values,
                             double* gradient) {
  const std::vector<Index> places = target_.places_of(columns);
  const std::span<const Index> J(places);
  const kernels::TargetPanel panel = [this, J](Index first, Index count, double* out) {
    control_.throw_if_stopped("chord");
    target_.columns(J.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
                    out);
  };
  const double f = placed_ ? in_place(J, values, gradient) : unless_stopped(control_, [&] {
    return kernels::chord_objective(form_.pattern, values, J, panel, gradient, form_.form);
  });
  const double weight = static_cast<double>(form_.pattern.order) / static_cast<double>(J.size());
  if (gradient != nullptr) space()->scale(gradient, form_.pattern.stored_numbers(), weight);
  return weight * f;
}

// ---------------------------------------------------------------------------------- Test error

namespace {

/// Columns per panel; three matrices of this width are in memory at a time.
constexpr std::size_t kPanel = 16;

}  // namespace

std::optional<TestError> chord_test_error(const LinearOperator& A,
                                          const LinearOperator& B,
                                          std::span<const Index> J) {
  const auto count = static_cast<Index>(J.size());
  require(count >= 2, "chord: {} test columns are too few; at least 2 are needed", count);
  Vector errors(count);
  Vector norms(count);
  for (std::size_t first = 0; first < J.size(); first += kPanel) {
    const auto part = J.subspan(first, std::min(kPanel, J.size() - first));
    const Matrix X = A.columns_at(part);
    const auto width = static_cast<Index>(part.size());
    const auto at = static_cast<Index>(first);
    norms.segment(at, width) = X.colwise().stableNorm().transpose();
    errors.segment(at, width) = (X - B.columns_at(part)).colwise().stableNorm().transpose();
  }
  const double scale = norms.maxCoeff();
  if (!norms.allFinite() || !errors.allFinite())
    throw NumericalError("chord: a test column of the matrix has NaN or Inf in it");
  if (scale == 0) return std::nullopt;
  const auto square_errors = (errors / scale).array().square();
  const auto square_norms = (norms / scale).array().square();
  const double ratio = square_errors.sum() / square_norms.sum();
  if (ratio == 0) return TestError{};
  // Variance of the ratio, a quotient of sums, from the residuals e_c^2 - ratio n_c^2.
  const double spread = (square_errors - ratio * square_norms).square().sum();
  const auto size = static_cast<double>(count);
  const double deviation = std::sqrt(size / (size - 1) * spread) / square_norms.sum();
  const double half_width = student_quantile(count - 1) * deviation / ratio / 2;
  const double error = std::sqrt(ratio);
  return TestError{error, error * std::exp(-half_width), error * std::exp(half_width)};
}

}  // namespace matapprox::chord_fit
