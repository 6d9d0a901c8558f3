#pragma once

#include <string>
#include <vector>

#include "simpletron_rows.hpp"
#include "trained_rows.hpp"

namespace matapprox::app {

/// Which part of [YKV+21, Table 2] is trained: accuracy by the number of blocks.
struct DepthChoice {
  SimpletronSetting setting;
  std::vector<std::string> models;        ///< softmax, simpletron; empty: both
  std::vector<Index> layers{1, 2, 4, 6};  ///< numbers of blocks
};

/// Softmax attention in post_norm blocks, as BERT has, and SimpleTRON with its second skip
/// connection and output layer, each with every number of blocks. Throws InvalidArgument for a
/// model that there is not.
std::vector<ExperimentRow> depth_rows(const DepthChoice& choice);

/// Accuracies with what the paper prints for AG News.
ShownRows depth_shown(const std::vector<FinishedRow>& rows);

/// Which part of [YKV+21, Sec. 4.2 and Fig. 2(c)] is trained: queries, keys and values of a
/// SimpleTRON in a model with softmax attention, where they stay as they are.
struct TransferChoice {
  SimpletronSetting setting;
  Index layers = 2;
};

/// SimpleTRON; softmax attention from scratch; the same with queries, keys and values frozen at
/// their random start, which is what the next is worth more than; and all weights from the
/// SimpleTRON of equal seed, with queries, keys and values frozen and with nothing frozen.
std::vector<ExperimentRow> transfer_rows(const TransferChoice& choice);

/// Errors, validation errors against steps, and how far the parameters of the transferred models of
/// the first seed went from where they began. The models are read from the folder.
ShownRows transfer_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
