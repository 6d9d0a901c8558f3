#pragma once

#include <string>
#include <vector>

#include "experiment.hpp"

namespace matapprox::app {

/// Data and sizes shared by the experiments with SimpleTRON.
struct SimpletronSetting {
  std::string data;  ///< a token file in place of generated texts
  Index length = 0;  ///< N; 0: 64 for generated texts, the longest sequence for a file
  Index width = 32;  ///< d
  Index heads = 2;
  Index steps = 2000;  ///< steps of each row
  std::vector<std::uint64_t> seeds{1, 2, 3};
};

/// Options of a model in post_norm blocks, as in BERT, with an output layer after the attention,
/// and of its training. Options appended later take precedence.
NamedOptions simpletron_options(const SimpletronSetting& setting,
                                const std::string& mechanism,
                                Index layers);

/// A row with these options.
ExperimentRow simpletron_row(const SimpletronSetting& setting,
                             const std::string& model,
                             const NamedOptions& options,
                             std::uint64_t seed);

/// One line for each baseline of the texts. `rows` must not be empty.
std::string baselines_of_texts(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
