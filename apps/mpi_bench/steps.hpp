#pragma once

#include <nlohmann/json.hpp>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Sizes of the steps, each a multiple of the number of processes.
struct StepsArguments {
  Index nodes = 2000000;   ///< order of the graph
  Index order = 1 << 18;   ///< order of the Chord chain
  Index points = 1 << 14;  ///< order of the kernel matrix
};

/// Measures the rates of this machine (measure_rates) and the median times of one command and of
/// the steps that methods consist of, over all processes of MPI_COMM_WORLD. `scripts/figures
/// measure mpi_steps` computes the times of the cost model in docs/distributed.md from the rates
/// and the sizes in the result. All processes call it together; the first gets the result, the
/// others nothing. Throws InvalidArgument for a size that is not a multiple.
nlohmann::json run_steps(const StepsArguments& arguments);

}  // namespace matapprox
