#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "matapprox/core/types.hpp"

namespace matapprox {

struct StepsArguments {
  Index nodes = 2000000;   ///< graph: a multiple of the number of processes
  Index order = 1 << 18;   ///< Chord chain: likewise
  Index points = 1 << 14;  ///< kernel matrix: likewise
  int repetitions = 9;
  std::string only = {};  ///< runs only steps whose names contain this text
};

/// Measures the median times of one command and of the steps that methods consist of, over all
/// processes of MPI_COMM_WORLD, beside the predictions of the cost model in docs/distributed.md.
/// All processes call it together; the first gets the result, the others nothing.
nlohmann::json run_steps(const StepsArguments& arguments);

}  // namespace matapprox
