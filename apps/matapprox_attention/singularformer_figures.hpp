#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "trained_rows.hpp"

namespace matapprox::app {

/// Selects the part of [WKZL23, Figs. 7 to 9] that is trained.
struct SingularformerChoice {
  std::vector<Index> ranks{2, 4, 8, 16, 32};  ///< r of Singularformer
  std::vector<std::uint64_t> seeds{1, 2, 3};
  Index length = 64;   ///< N of Adding
  Index steps = 2000;  ///< steps of each row
  Index samples = 50;  ///< test samples of each seed on which attention is correlated
};

/// Rows of Singularformer with each r, then of the quadratic models: softmax attention in post_norm
/// and pre_norm blocks, and Realformer. The task is Adding, with a head that reads the first token
/// and two layers of width 32 with four heads, so that d/m = 8.
std::vector<ExperimentRow> singularformer_rows(const SingularformerChoice& choice);

/// Errors by r, and the attention correlation [WKZL23, Sec. 5.2] of the models of equal seed, which
/// are read from the folder. Cost: two forward passes of a model in double precision for each
/// sample and pair. Omits all correlations once `stop` is set.
ShownRows singularformer_shown(const SingularformerChoice& choice,
                               const std::string& folder,
                               const std::vector<FinishedRow>& rows,
                               const std::atomic<bool>& stop);

}  // namespace matapprox::app
