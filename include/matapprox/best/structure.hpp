#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {

/// Structure of a matrix by which it takes few bytes.
struct Structure {
  std::string text;  ///< "Kronecker sum of 3 terms", "upper triangle, 1 bit, 2 values"
  double bytes = 0;  ///< bytes of the arrays of A in this form
  /// |A - B|_F / |A|_F of this form, estimated if it takes more than 1e11 multiplications; 0: no
  /// loss.
  double relative_error = 0;
};

/// Returns the structure that is seen in A, fewest bytes first: its smallest lossless form, if that
/// takes at most nine tenths of the doubles, and, for a dense matrix in memory that has no lossless
/// form of a hundredth of them, low rank, Kronecker sums, butterflies, and low rank with entries
/// that stand out, if they take at most a twentieth with an error of at most 1e-7. Samples decide
/// which of these are fitted. Cost: that of exact_sizes and a randomized SVD of rank 48, and the
/// fits. Throws NumericalError for NaN or Inf, NotAvailable if memory does not suffice,
/// Interrupted.
std::vector<Structure> find_structure(const LinearOperator& A,
                                      std::uint64_t seed = 1,
                                      const RunControl& control = {});

}  // namespace matapprox
