#pragma once

#include "matapprox/io/load.hpp"
#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// What is behind a row that is done: its image and its saved file need it.
struct RowResult {
  Approximation tsvd;  ///< at the paper's rank
  Approximation chord;
  double relative_error = 0;
};

/// Fills in everything of `row` but paper and file: fits, then measures. `control` watches, saves
/// and resumes the Chord fit; of the rest it can only stop. Throws what the methods throw.
RowResult reproduce_row(ReproducedRow& row,
                        const LinearOperator& A,
                        const ReproductionOptions& options,
                        const RunControl& control);

/// The error that is left when the `count` entries of the largest size are kept.
ReproducedError keep_largest_entries(const Matrix& A, Index count);

}  // namespace matapprox::reproduction
