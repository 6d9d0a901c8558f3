#pragma once

#include <nlohmann/json.hpp>

#include "matapprox/core/types.hpp"

namespace matapprox {

struct ChainArguments {
  Index order = 1 << 24;  ///< rows of the product: 2^k, divisible by the number of processes
  Index columns = 1;
  Index fit_order = 1 << 20;  ///< rows of the fit, likewise; 0: no fit
  Index fit_factors = 0;      ///< factors with two links per row; 0: the product's chain
  Index steps = 10;
  bool steps_alone = false;  ///< without the columns from which a fit computes its error
  bool serial = true;        ///< compare with one process
};

/// Runs a Chord chain with four links per row of each factor, 0, s, 2 s, 3 s with s = 1, 4, 16,
/// ..., on all processes of MPI_COMM_WORLD. Reports its products and a fit by random columns,
/// whether they have the bits of the serial program, and the bytes that each process sends beside
/// those of the cost model. A chain of `fit_factors` has links 0 and s, from neighbors to half of
/// the rows; it does not reach all distances, and fits into memory where the other does not. All
/// processes call it together; the first gets the result, the others nothing.
nlohmann::json run_chain(const ChainArguments& arguments);

}  // namespace matapprox
