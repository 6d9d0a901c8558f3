#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "matapprox/training/roc.hpp"

namespace matapprox::training {

/// Quality of predicted sets of labels. A label is assigned to a sample if its score is above 0.
struct LabelScores {
  double micro_f1 = 0;   ///< over all pairs of sample and label together
  double macro_f1 = 0;   ///< mean over the labels
  double macro_auc = 0;  ///< mean over the labels with an area; 0 if there is none
  /// One per label; empty if all samples have the label or none has.
  std::vector<std::optional<RocArea>> roc;
};

/// Computes F1 and areas from n x `labels` scores, row-major, and as many targets: 1 if a sample
/// has a label, else 0.
///   F1 = 2 TP / (2 TP + FP + FN), 0 if no sample has the label and none is assigned it
/// Cost: n log n comparisons per label. Throws InvalidArgument unless there are as many scores as
/// targets, full rows and at least one, and for a score that is not finite.
LabelScores label_scores(std::span<const double> scores,
                         std::span<const std::uint8_t> targets,
                         Index labels);

}  // namespace matapprox::training
