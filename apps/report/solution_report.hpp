#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/solve/solve.hpp"
#include "report/json.hpp"
#include "report/page.hpp"
#include "report/plot.hpp"

namespace matapprox::report {

/// The problem that was solved, and its solutions.
struct SolutionContents {
  std::string path;            ///< path of the matrix
  std::string matrix;          ///< short description of the matrix
  std::string right_side;      ///< path of the right-hand sides
  std::string preconditioner;  ///< short description; "none"
  double tolerance = 0;
  double shift = 0;
  std::vector<SolveResult> columns;  ///< one result for each right-hand side
  std::string command;               ///< command line
};

/// Residuals against iterations, one line per right-hand side, the tolerance dashed. Residuals
/// below 1e-16 are drawn there.
Chart residual_chart(const SolutionContents& contents);

/// A page with that chart, a table and how to repeat it.
Page solution_page(const SolutionContents& contents);

/// The table of the terminal, one line per right-hand side.
std::string solution_table(const SolutionContents& contents);

Json to_json(const SolveResult& result);

}  // namespace matapprox::report
