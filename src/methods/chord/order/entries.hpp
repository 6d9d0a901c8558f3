#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::chord_fit {

/// The entries |a_ij| of a square matrix that determine an ordering.
struct Entries {
  SparseMatrix sizes;   ///< compressed, columns ascending within a row
  bool sparse = false;  ///< `sizes` holds all nonzeros, which are few
  Vector by_distance;   ///< sums of |a_ij| over all entries, at (j - i) mod N
};

/// Returns all entries of A if at most 32 N are nonzero; else the 32 largest of each column, the
/// upper ones among equals. Reads A once, by column panels unless it is a sparse matrix in memory;
/// holds at most 64 N entries. Throws Interrupted, NumericalError for NaN or Inf.
Entries largest_entries(const LinearOperator& A, const RunControl& control);

/// True if reading all of A takes seconds at most: up to order 16384, or for any sparse matrix.
bool is_quick_to_read(const LinearOperator& A);

/// Returns the weighted graph |A| + |A|^T without the diagonal.
SparseMatrix joined(const Entries& entries);

}  // namespace matapprox::chord_fit
