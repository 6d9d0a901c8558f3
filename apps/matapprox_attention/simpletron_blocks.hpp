#pragma once

#include <string>
#include <vector>

#include "simpletron_rows.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {

/// Which part of [YKV+21, Sec. 5.2, Figs. 3 and 5] is trained: models of many blocks, and the
/// standard deviation of each block's attention output meanwhile.
struct BlocksChoice {
  SimpletronSetting setting;
  Index layers = 8;
};

/// Softmax attention; SimpleTRON with an output layer behind the attention, without one, and with
/// one and a second skip connection around the block.
std::vector<ExperimentRow> blocks_rows(const BlocksChoice& choice);

/// Errors and standard deviations after the last step, medians of the seeds; errors against steps;
/// the standard deviations against steps, of the models of the first seed. The models are read from
/// the folder.
ShownRows blocks_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
