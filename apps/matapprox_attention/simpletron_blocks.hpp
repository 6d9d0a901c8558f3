#pragma once

#include <string>
#include <vector>

#include "simpletron_rows.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part of [YKV+21, Sec. 5.2, Figs. 3 and 5] that is trained: models of many blocks,
/// with the standard deviation of each block's attention output during the training.
struct BlocksChoice {
  SimpletronSetting setting;
  Index layers = 8;
};

/// Rows of softmax attention and of SimpleTRON: with an output layer after the attention, without
/// one, and with one and a second skip connection around the block.
std::vector<ExperimentRow> blocks_rows(const BlocksChoice& choice);

/// Errors and standard deviations after the last step, as medians of the seeds; errors against
/// steps; and the standard deviations against steps for the models of the first seed. The models
/// are read from the folder.
ShownRows blocks_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
