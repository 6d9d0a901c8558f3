#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/training/roc.hpp"

namespace matapprox::training {

/// How well sets of labels are answered. A label is given to a sample if its score is above 0.
struct LabelScores {
  double micro_f1 = 0;   ///< of all pairs of sample and label together
  double macro_f1 = 0;   ///< mean over the labels
  double macro_auc = 0;  ///< mean over the labels that have an area; 0 if none has
  /// One a label; nothing where all samples have it or none has.
  std::vector<std::optional<RocArea>> roc;
};

/// Of n x `labels` scores, row-major, and whether each sample has each label, 0 or 1.
///   F1 = 2 TP / (2 TP + FP + FN), 0 where no label is there and none is given
/// Cost: n log n comparisons a label. Throws InvalidArgument unless there are as many scores as
/// labels, full rows and at least one, and for a score that is not finite.
LabelScores label_scores(std::span<const double> scores,
                         std::span<const std::uint8_t> targets,
                         Index labels);

}  // namespace matapprox::training
