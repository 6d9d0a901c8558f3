#pragma once

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::chord_fit {

/// |a_ij| of what an ordering of a square matrix looks at.
struct Entries {
  SparseMatrix sizes;   ///< compressed, columns ascending within a row
  bool sparse = false;  ///< these are all entries that are not zero, and few
  Vector by_distance;   ///< sums of |a_ij| of all entries, at (j - i) mod N
};

/// All entries of A if at most 32 N are not zero; else the 32 largest of each column, of equal ones
/// the upper. Reads A once, by column panels unless it is a sparse matrix in memory; holds at most
/// 64 N entries. Throws Interrupted, NumericalError for NaN or Inf.
Entries largest_entries(const LinearOperator& A, const RunControl& control);

/// Whether reading all of A takes seconds at most: up to order 16384, or of any sparse matrix.
bool is_quick_to_read(const LinearOperator& A);

/// |A| + |A|^T without the diagonal, by which nodes of a graph are joined.
SparseMatrix joined(const Entries& entries);

}  // namespace matapprox::chord_fit
