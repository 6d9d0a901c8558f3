#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/solve/solve.hpp"
#include "report/json.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"

namespace matapprox::report {

/// What was solved, and what came of it.
struct SolutionContents {
  std::string path;            ///< of the matrix
  std::string matrix;          ///< a few words on it
  std::string right_side;      ///< its path
  std::string preconditioner;  ///< a few words on it; "none"
  double tolerance = 0;
  double shift = 0;
  std::vector<SolveResult> columns;  ///< one result for each right-hand side
  std::string command;               ///< what was typed
};

/// Residuals against iterations, a line for each right-hand side, the tolerance dashed. Residuals
/// below 1e-16 are drawn there.
Chart residual_chart(const SolutionContents& contents);

/// The same with a table and how to repeat it.
Page solution_page(const SolutionContents& contents);

/// The table of the terminal, one line for each right-hand side.
std::string solution_table(const SolutionContents& contents);

Json to_json(const SolveResult& result);

}  // namespace matapprox::report
