#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Which part of the table of lengths by k is trained, of the report on [WLK+20].
struct LinformerGridChoice {
  std::vector<Index> lengths{256, 512, 1024};
  std::vector<Index> ranks;  ///< k; empty: those of the report at each length
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 1500;  ///< of each row
  std::string data;    ///< a token file in place of generated texts
};

/// At each length softmax attention and Linformer with every k: one pre_norm block of width 32 with
/// two heads, on generated texts whose class the bag of words tells in most cases. Throws
/// InvalidArgument for a k above its length.
std::vector<ExperimentRow> linformer_grid_rows(const LinformerGridChoice& choice);

/// Accuracies with what the report prints for IMDb, seconds of a training beside them.
ShownRows linformer_grid_shown(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
