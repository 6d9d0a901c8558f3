#pragma once

#include <optional>
#include <span>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::chord_fit {

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
