#pragma once

#include <string>
#include <vector>

#include "experiment.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// Selects the part of [KYCY22, Fig. 5] that is trained; empty lists select all of it.
struct FigureFiveChoice {
  std::vector<std::string> tasks;   ///< adding, temporal_order
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise
  std::vector<std::string> heads;   ///< flatten, cls
  std::vector<Index> lengths;       ///< empty: 128 .. 1024, for psf also 4096
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 0;  ///< steps of each row; 0: the default of the row
};

/// Returns the rows, in the order of the table. Throws InvalidArgument for an unknown name.
std::vector<ExperimentRow> figure_five_rows(const FigureFiveChoice& choice);

/// Medians and ranges over the seeds, lengths side by side, with the published errors.
std::string figure_five_table(const std::vector<FinishedRow>& rows);

/// Median errors against lengths, one chart per task and head.
std::vector<report::Chart> figure_five_charts(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
