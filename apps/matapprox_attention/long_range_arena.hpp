#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part of the Long Range Arena [TDA+21] that is trained in a small form; [KYCY22,
/// Table 3] and [YKV+21, Table 1] have it at full size.
struct LongRangeArenaChoice {
  std::vector<std::string> tasks;   ///< listops, text, matching, image, pathfinder; empty: all
  std::vector<std::string> models;  ///< psf, simpletron, softmax, tokenwise; empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index steps = 0;    ///< steps of each row; 0: those of its task
  std::string image;  ///< token file of small images; empty: the task image is left out
};

/// Rows on generated tasks of the arena's five kinds, with images from a token file. Throws
/// InvalidArgument for an unknown task or model, and for the task image without a file.
std::vector<ExperimentRow> long_range_arena_rows(const LongRangeArenaChoice& choice);

/// Test errors beside every baseline and beside the same model without attention, the number of
/// seeds below them, and validation errors against steps. The models are read from the folder.
ShownRows long_range_arena_shown(const LongRangeArenaChoice& choice,
                                 const std::string& folder,
                                 const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
