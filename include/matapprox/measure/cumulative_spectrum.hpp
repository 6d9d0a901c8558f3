#pragma once

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// The singular values of a matrix, descending, and what share of the whole the largest ones are.
struct CumulativeSpectrum {
  Vector values;
  bool centered = false;
  /// sum of the first k values to that power over the sum of all; power 2 is the share of the
  /// squared Frobenius norm, and of the variance where columns were centered. NaN for a zero
  /// matrix, of which nothing has a share.
  double share(Index k, int power) const;
};

/// All min(m, n) singular values of A, by LAPACK; with `center_columns` of A less the mean of each
/// column, as in principal component analysis. Without it a matrix of positive entries has a large
/// first value that is its mean alone: of entries uniform in 0..1 three quarters of the squared
/// norm. Cost: all columns of A, m n numbers, O(m n min(m, n)).
CumulativeSpectrum cumulative_spectrum(const LinearOperator& A, bool center_columns);

}  // namespace matapprox
