#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

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

}  // namespace matapprox::chord_fit
