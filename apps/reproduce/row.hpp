#pragma once

#include "matapprox/io/load.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// Approximations of a finished row, which its image and its saved file need.
struct RowResult {
  Approximation tsvd;  ///< at the paper's rank
  Approximation chord;
  double relative_error = 0;
};

/// Fills in everything of `row` except paper and file: fits, then measures. `control` reports,
/// saves and resumes the Chord fit; all other work it can only stop. Throws the exceptions of the
/// methods.
RowResult reproduce_row(ReproducedRow& row,
                        const LinearOperator& A,
                        const ReproductionOptions& options,
                        const RunControl& control);

/// Error that remains when the `count` largest entries are kept.
ReproducedError keep_largest_entries(const Matrix& A, Index count);

}  // namespace matapprox::reproduction
