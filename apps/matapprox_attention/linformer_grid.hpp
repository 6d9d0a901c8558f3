#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part that is trained of the table of lengths by k in the report on [WLK+20].
struct LinformerGridChoice {
  std::vector<Index> lengths{256, 512, 1024};
  std::vector<Index> ranks;  ///< k; empty: those of the report at each length
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 1500;  ///< steps of each row
  std::string data;    ///< a token file in place of generated texts
};

/// Rows of softmax attention and of Linformer with every k, at each length: one pre_norm block of
/// width 32 with two heads, on generated texts whose class mostly follows from the bag of words.
/// Throws InvalidArgument for a k above its length.
std::vector<ExperimentRow> linformer_grid_rows(const LinformerGridChoice& choice);

/// Accuracies with those of the report for IMDb, and seconds of a training.
ShownRows linformer_grid_shown(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
