#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part of [KYCY22, Table 2] that is trained; the task is to tell two kinds of
/// sequences apart.
struct GenomeChoice {
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise; empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index length = 128;  ///< N of generated sequences
  Index steps = 0;     ///< steps of each row; 0: those of its setting
  std::string data;    ///< a token file of two classes in place of generated sequences
};

/// Rows on sequences with planted words, whose best predictor is known, with three pre_norm blocks
/// each; on a token file, one layer each in the setting of the paper's public code. Throws
/// InvalidArgument for an unknown model.
std::vector<ExperimentRow> genome_rows(const GenomeChoice& choice);

/// Areas under the ROC curve with those published for the paper's genomes, test errors, and
/// validation errors against steps. The models are read from the folder.
ShownRows genome_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
