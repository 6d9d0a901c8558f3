#pragma once

#include <string>
#include <vector>

#include "experiment.hpp"

namespace matapprox::app {

/// What the experiments with SimpleTRON train their models on.
struct SimpletronSetting {
  std::string data;  ///< a token file in place of generated texts
  Index length = 0;  ///< N; 0: 64 of a generated text, that of the longest sequence of a file
  Index width = 32;  ///< d
  Index heads = 2;
  Index steps = 2000;  ///< of each row
  std::vector<std::uint64_t> seeds{1, 2, 3};
};

/// Options of a model in post_norm blocks, as BERT has, with an output layer behind the attention,
/// and of its training. What comes after them takes precedence.
NamedOptions simpletron_options(const SimpletronSetting& setting,
                                const std::string& mechanism,
                                Index layers);

/// A row with these options.
ExperimentRow simpletron_row(const SimpletronSetting& setting,
                             const std::string& model,
                             const NamedOptions& options,
                             std::uint64_t seed);

/// A line for each baseline of the texts. `rows` is not empty.
std::string baselines_of_texts(const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
