#pragma once

#include <string>
#include <vector>

#include "experiment.hpp"
#include "report/plot.hpp"

namespace matapprox::app {

/// Which part of [KYCY22, Fig. 5] is trained; empty lists: all of it.
struct FigureFiveChoice {
  std::vector<std::string> tasks;   ///< adding, temporal_order
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise
  std::vector<std::string> heads;   ///< flatten, cls
  std::vector<Index> lengths;       ///< empty: 128 .. 1024, for psf also 4096
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 0;  ///< of each row; 0: its own
};

/// Its rows, in the order of the table. Throws InvalidArgument for a name that there is not.
std::vector<ExperimentRow> figure_five_rows(const FigureFiveChoice& choice);

/// Medians and ranges over the seeds, lengths side by side, with what the paper prints.
std::string figure_five_table(const std::vector<FinishedRow>& rows);

/// Median errors against lengths, a chart for each task and head.
std::vector<report::Chart> figure_five_charts(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
