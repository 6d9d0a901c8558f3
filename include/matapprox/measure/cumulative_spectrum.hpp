#pragma once

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// The singular values of a matrix, descending, and the share of the largest ones in the total.
struct CumulativeSpectrum {
  Vector values;
  bool centered = false;
  /// Sum of the first k values to the power `power` over the sum of all. Power 2 gives the share of
  /// the squared Frobenius norm, and of the variance if columns were centered. NaN for a zero
  /// matrix.
  double share(Index k, int power) const;
};

/// Returns all min(m, n) singular values of A, by LAPACK; with `center_columns`, of A less the mean
/// of each column, as in principal component analysis. Without centering, a matrix of positive
/// entries has a large first value that represents only its mean: three quarters of the squared
/// norm for entries uniform in 0..1. Cost: all columns of A, m n numbers, O(m n min(m, n)).
CumulativeSpectrum cumulative_spectrum(const LinearOperator& A, bool center_columns);

}  // namespace matapprox
