#pragma once

#include <memory>
#include <span>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/chord/order/ordering.hpp"

namespace matapprox::chord_fit {

/// The matrix that the factors are fitted to: A / unit with Frobenius norm sqrt(N), so that steps
/// and tolerances mean the same for every A. Kept as a copy where N <= 4096 and it takes at most
/// half of the memory that is left, else asked from A by columns whenever it is needed.
class Target {
 public:
  /// Reads A once, by column panels. Throws InvalidArgument unless A is square with N >= 1,
  /// NumericalError for NaN, Inf or a norm beyond the range of double, Interrupted.
  Target(const LinearOperator& A, const RunControl& control);
  /// Reads only the columns `sample`: the unit is an estimate from them, and other columns are
  /// asked from A when they are needed. Where the sample is zero, as the constructor above.
  Target(const LinearOperator& A, std::span<const Index> sample, const RunControl& control);

  const LinearOperator& matrix() const { return *A_; }
  /// From here on the rows and columns of the target are those of A in that order; null: natural.
  /// `unit` stays.
  void follow(std::shared_ptr<const Ordering> ordering);
  bool is_ordered() const { return ordering_ != nullptr; }
  /// At which columns of the target those columns of A are.
  std::vector<Index> places_of(std::span<const Index> columns) const;

  /// Where A is on a GPU, its source is asked from here on, and what is asked is not counted.
  void leave_gpu();

  Index order() const { return order_; }
  double unit() const { return unit_; }  ///< |A|_F / sqrt(N); 0 for A = 0

  /// Columns first .. first+count-1 of the target, as a row-major N x count panel. Any thread.
  void columns(Index first, Index count, double* panel) const;
  void columns(Index first, Index count, float* panel) const;
  /// Columns J of the target, as a row-major N x |J| panel. Any thread. Throws NumericalError for
  /// NaN or Inf that was not seen before.
  void columns(std::span<const Index> J, double* panel) const;

 private:
  void read_all(const RunControl& control);
  /// unit times columns J of the target.
  Matrix ordered_columns(std::span<const Index> J) const;

  const LinearOperator* A_;
  Index order_;
  double unit_ = 0;
  std::shared_ptr<const Ordering> ordering_;
  std::vector<Index> row_places_;  ///< of the rows of A; empty without an ordering
  std::vector<Index> column_places_;
  std::vector<double> copy_;       ///< row-major N x N, or empty
  std::vector<float> float_copy_;  ///< the same rounded
};

}  // namespace matapprox::chord_fit
