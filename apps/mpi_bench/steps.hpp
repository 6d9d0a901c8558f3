#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

struct StepsArguments {
  Index nodes = 2000000;   ///< of the graph, a multiple of the processes
  Index order = 1 << 18;   ///< of the Chord chain, as well
  Index points = 1 << 14;  ///< of the kernel matrix, as well
  int repetitions = 9;
  std::string only = {};  ///< steps whose names contain it
};

/// Medians of the time of one command and of the steps that methods consist of, over all processes
/// of MPI_COMM_WORLD, beside the predictions of the cost model in docs/distributed.md. All
/// processes call it together; the first gets the result, the others nothing.
nlohmann::json run_steps(const StepsArguments& arguments);

}  // namespace matapprox
