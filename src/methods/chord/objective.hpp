#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/chord_objective.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/plan.hpp"
#include "methods/order/orderings.hpp"

namespace matapprox::chord_fit {

// ------------------------------------------------------------------------------- Drawn columns

/// The columns that a sampled fit reads in each step, a function of the seed alone. Two fixed sets
/// serve to choose the best point (validation) and to state its error (test). Training uses every
/// column, including these: entries of W_M in column c contribute only to column c of the product,
/// so a column left out of training stays as it was at the start and says nothing about the others.
/// The two sets are drawn without regard to the order of training, which makes the error on them an
/// unbiased estimate at any step.
class ColumnSample {
 public:
  /// `order` >= 32; `per_step` in 1..order.
  ColumnSample(Index order, Index per_step, std::uint64_t seed);

  const std::vector<Index>& validation() const { return validation_; }
  const std::vector<Index>& test() const { return test_; }
  /// Returns the columns of training step t = 0, 1, ...: every column once before any is used
  /// again, in a new order each time.
  std::vector<Index> step(Index t);

 private:
  void shuffle(Index epoch);

  Index per_step_;
  std::uint64_t seed_;
  std::vector<Index> validation_;
  std::vector<Index> test_;
  std::vector<Index> training_;  ///< training columns, in the order of epoch_
  Index epoch_ = -1;
};

// -------------------------------------------------------------------------------------- Target

/// The matrix to which the factors are fitted: A / unit with Frobenius norm sqrt(N), so that steps
/// and tolerances mean the same for every A. Stored as a copy if N <= 4096 and it takes at most
/// half of the available memory; else columns are read from A whenever they are needed.
class Target {
 public:
  /// Reads A once, by column panels. Throws InvalidArgument unless A is square with N >= 1,
  /// NumericalError for NaN, Inf or a norm beyond the range of double, Interrupted.
  Target(const LinearOperator& A, const RunControl& control);
  /// Reads only the columns `sample`: the unit is estimated from them, and other columns are read
  /// from A when they are needed. If the sample is zero, reads A as the constructor above does.
  Target(const LinearOperator& A, std::span<const Index> sample, const RunControl& control);

  const LinearOperator& matrix() const { return *A_; }
  /// Sets the order of the rows and columns of the target; null: that of A. `unit` stays the same.
  void follow(std::shared_ptr<const Ordering> ordering);
  bool is_ordered() const { return ordering_ != nullptr; }
  /// Returns the positions in the target of these columns of A.
  std::vector<Index> places_of(std::span<const Index> columns) const;

  /// Switches from an A on a GPU to its underlying operator, whose accesses are not counted.
  void leave_gpu();

  Index order() const { return order_; }
  double unit() const { return unit_; }  ///< |A|_F / sqrt(N); 0 for A = 0

  /// Writes columns first .. first+count-1 of the target as a row-major N x count panel. Safe to
  /// call from any thread.
  void columns(Index first, Index count, double* panel) const;
  void columns(Index first, Index count, float* panel) const;
  /// Writes columns J of the target as a row-major N x |J| panel. Safe to call from any thread.
  /// Throws NumericalError for NaN or Inf not found before.
  void columns(std::span<const Index> J, double* panel) const;

 private:
  void read_all(const RunControl& control);
  /// Returns unit times columns J of the target.
  Matrix ordered_columns(std::span<const Index> J) const;

  const LinearOperator* A_;
  Index order_;
  double unit_ = 0;
  std::shared_ptr<const Ordering> ordering_;
  std::vector<Index> row_places_;  ///< place of each row of A; empty without an ordering
  std::vector<Index> column_places_;
  std::vector<double> copy_;       ///< row-major N x N, or empty
  std::vector<float> float_copy_;  ///< copy_ rounded to floats
};

// ---------------------------------------------------------------------------------- Evaluation

/// The objective of one fit. It is evaluated by several processes if the matrix is distributed over
/// them and provides an objective; else on a GPU if control.on_device; else on the CPU.
///
/// All functions throw Interrupted once the caller's control requests a stop, NotAvailable if the
/// GPU fails or a process runs out of memory.
class Evaluation {
 public:
  /// `max_columns`: largest number of columns in one evaluation. `on_gpu` makes the GPU's
  /// objective; null if there is none. Throws NotAvailable if the GPU cannot be used or a process
  /// runs out of memory.
  Evaluation(const Form& form,
             const Target& target,
             Index max_columns,
             const RunControl& control,
             const ChordObjectiveMaker& on_gpu);

  /// Memory space of values and gradients.
  const std::shared_ptr<const MemorySpace>& space() const;
  /// Evaluates on the CPU from here on.
  void leave_gpu() { placed_.reset(); }

  /// Returns f of all columns and, unless null, computes its gradient.
  double of_all(const double* values, double* gradient);
  /// The same in floats, on the host.
  double of_all_in_floats(const double* values, double* gradient);
  /// Returns (N / |J|) times the part of f from the columns J of A and, unless null, computes its
  /// gradient.
  double of_sample(std::span<const Index> J, const double* values, double* gradient);

 private:
  double in_place(std::span<const Index> J, const double* values, double* gradient);

  const Form& form_;
  const Target& target_;
  const RunControl& control_;
  std::vector<Index> all_;
  std::unique_ptr<DeviceChordObjective> placed_;  ///< null if evaluated on the CPU
  std::vector<float> float_values_;
  std::vector<float> float_gradient_;
};

// ---------------------------------------------------------------------------------- Test error

/// The relative Frobenius error of an approximation, estimated on some columns.
struct TestError {
  double error = 0;
  double lower = 0;  ///< ends of the 95 % confidence interval
  double upper = 0;
};

/// Estimates sqrt(sum |A e_c - B e_c|^2 / sum |A e_c|^2) over at least 2 random columns c in J. The
/// interval is Student's t on the logarithm of the ratio (delta method), for columns drawn
/// independently of B. Returns nothing if A is zero in all of them. Cost: the columns of A and of
/// B. Throws InvalidArgument for fewer than 2 columns, NumericalError for NaN or Inf.
std::optional<TestError> chord_test_error(const LinearOperator& A,
                                          const LinearOperator& B,
                                          std::span<const Index> J);

}  // namespace matapprox::chord_fit
