#pragma once

#include <string>
#include <vector>

#include "simpletron_rows.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part of [YKV+21, Table 2] that is trained: accuracy by the number of blocks.
struct DepthChoice {
  SimpletronSetting setting;
  std::vector<std::string> models;        ///< softmax, simpletron; empty: both
  std::vector<Index> layers{1, 2, 4, 6};  ///< numbers of blocks
};

/// Rows of softmax attention in post_norm blocks, as in BERT, and of SimpleTRON with its second
/// skip connection and output layer, each with every number of blocks. Throws InvalidArgument for
/// an unknown model.
std::vector<ExperimentRow> depth_rows(const DepthChoice& choice);

/// Accuracies with those published for AG News.
ShownRows depth_shown(const std::vector<FinishedRow>& rows);

/// Selects the part of [YKV+21, Sec. 4.2 and Fig. 2(c)] that is trained: queries, keys and values
/// of a SimpleTRON are transferred to a model with softmax attention and frozen there.
struct TransferChoice {
  SimpletronSetting setting;
  Index layers = 2;
};

/// Rows of SimpleTRON; of softmax attention from scratch; of the same with queries, keys and values
/// frozen at their random start, as reference for the next; and of softmax attention with all
/// weights from the SimpleTRON of equal seed, with queries, keys and values frozen and with nothing
/// frozen.
std::vector<ExperimentRow> transfer_rows(const TransferChoice& choice);

/// Errors, validation errors against steps, and the deviation of the parameters from their start
/// for the transferred models of the first seed. The models are read from the folder.
ShownRows transfer_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
