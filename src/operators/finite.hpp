#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Throws NumericalError, naming row and column (counted from 0), if an entry is NaN or Inf; `what`
/// starts the message. Cost: one pass, all threads.
void require_finite(const ConstBlock& values, const std::string& what);
void require_finite(const SparseMatrix& values, const std::string& what);

/// Square root of the sum of squares, without intermediate overflow or underflow, added in a fixed
/// order.
double frobenius_norm(const double* values, Index count);

/// Facts that one pass over the entries of a dense matrix finds.
struct EntryFacts {
  Index nonzeros = 0;
  double frobenius_norm = 0;  ///< the same bits as frobenius_norm() returns
  double largest = 0;         ///< the largest magnitude
};
/// Throws NumericalError like require_finite. Cost: m n, each entry read once.
EntryFacts entry_facts(const ConstBlock& values, const std::string& what);
/// Same for the transpose of `stored`. The result has the same bits as for a copy in column order.
EntryFacts entry_facts_of_transpose(const ConstBlock& stored, const std::string& what);

}  // namespace matapprox
