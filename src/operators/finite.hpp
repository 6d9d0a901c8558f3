#pragma once

#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Throws NumericalError, naming row and column (counted from 0), if an entry is NaN or Inf; `what`
/// starts the message. Cost: one pass, all threads.
void require_finite(const ConstBlock& values, const std::string& what);
void require_finite(const SparseMatrix& values, const std::string& what);

/// sqrt(sum of squares), without overflow or underflow on the way, added in a fixed order.
double frobenius_norm(const double* values, Index count);

/// What one pass over the entries of a dense matrix tells.
struct EntryFacts {
  Index nonzeros = 0;
  double frobenius_norm = 0;  ///< the same bits as frobenius_norm() gives
  double largest = 0;         ///< the largest magnitude
};
/// Throws NumericalError as require_finite does. Cost: m n, each entry read once.
EntryFacts entry_facts(const ConstBlock& values, const std::string& what);
/// The same of the transpose of `stored`, with the bits that a copy in column order has.
EntryFacts entry_facts_of_transpose(const ConstBlock& stored, const std::string& what);

}  // namespace matapprox
