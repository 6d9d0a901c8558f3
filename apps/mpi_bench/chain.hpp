#pragma once

#include <nlohmann/json.hpp>

#include "matapprox/core/types.hpp"

namespace matapprox {

struct ChainArguments {
  Index order = 1 << 24;  ///< of the product, a power of two and a multiple of the processes
  Index columns = 1;
  Index fit_order = 1 << 20;  ///< of the fit, as well; 0: none
  Index fit_factors = 0;      ///< of the fit's chain, with two links a row; 0: that of the product
  Index steps = 10;
  bool steps_alone = false;  ///< without the columns by which a fit knows its error
  bool serial = true;        ///< compare with one process
};

/// A Chord chain with four links a row of each factor, 0, s, 2 s, 3 s with s = 1, 4, 16, ..., on
/// all processes of MPI_COMM_WORLD: its products and a fit by random columns, whether they have the
/// bits of the serial program, and the bytes that each process sends beside the cost model's. A
/// chain of `fit_factors` has links 0 and s, from neighbors to half of the rows; it does not reach
/// all distances, and fits where the other does not. All processes call it together; the first gets
/// the result, the others nothing.
nlohmann::json run_chain(const ChainArguments& arguments);

}  // namespace matapprox
