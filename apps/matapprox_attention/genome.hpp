#pragma once

#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Which part of [KYCY22, Table 2] is trained: two kinds of sequences are told apart.
struct GenomeChoice {
  std::vector<std::string> models;  ///< psf, softmax, linformer, performer, tokenwise; empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index length = 128;  ///< N of generated sequences
  Index steps = 0;     ///< of each row; 0: those of its setting
  std::string data;    ///< a token file of two classes in place of generated sequences
};

/// On sequences with planted words, whose best predictor is known, three pre_norm blocks each; on a
/// token file one layer each in the setting of the paper's public code. Throws InvalidArgument for
/// a model that there is not.
std::vector<ExperimentRow> genome_rows(const GenomeChoice& choice);

/// Areas under the ROC curve with what the paper prints for its genomes, test errors, and
/// validation errors against steps. The models are read from the folder.
ShownRows genome_shown(const std::string& folder, const std::vector<FinishedRow>& rows);

}  // namespace matapprox::app
