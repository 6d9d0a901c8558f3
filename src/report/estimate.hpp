#pragma once

#include <functional>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/report/measure.hpp"

namespace matapprox::report {

/// A Frobenius norm estimated from |D w|^2 for random w, with its 95 % interval.
struct NormEstimate {
  double norm = 0;
  std::pair<double, double> interval{0, 0};
};

/// Estimates |D|_F of an operator with n columns and m rows, known by its products D W.
NormEstimate estimate_norm(Index m,
                           Index n,
                           const MeasureOptions& options,
                           const std::function<Matrix(const Matrix&)>& product,
                           const std::function<void()>& between_blocks);

}  // namespace matapprox::report
