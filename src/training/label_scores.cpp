#include "matapprox/training/label_scores.hpp"

#include <algorithm>

#include "matapprox/core/require.hpp"

namespace matapprox::training {
namespace {

/// Number of samples with a label that were given it (right) or not (missed), and of those without
/// it that were given it (wrong).
struct LabelCounts {
  Index right = 0;
  Index missed = 0;
  Index wrong = 0;

  double f1() const {
    const Index all = 2 * right + missed + wrong;
    return all == 0 ? 0 : 2 * static_cast<double>(right) / static_cast<double>(all);
  }
};

}  // namespace

LabelScores label_scores(std::span<const double> scores,
                         std::span<const std::uint8_t> targets,
                         Index labels) {
  require(labels >= 1 && !scores.empty() && std::ssize(scores) % labels == 0,
          "label_scores: {} scores do not form rows of {} labels",
          scores.size(),
          labels);
  require(scores.size() == targets.size(),
          "label_scores: {} scores and {} targets",
          scores.size(),
          targets.size());
  const auto width = static_cast<std::size_t>(labels);
  const std::size_t samples = scores.size() / width;
  LabelScores result;
  LabelCounts all;
  std::vector<double> column(samples);
  std::vector<std::uint8_t> has(samples);
  Index areas = 0;
  for (std::size_t c = 0; c < width; ++c) {
    LabelCounts counts;
    for (std::size_t i = 0; i < samples; ++i) {
      column[i] = scores[i * width + c];
      has[i] = targets[i * width + c];
      const bool given = column[i] > 0;
      if (has[i] != 0) ++(given ? counts.right : counts.missed);
      if (has[i] == 0 && given) ++counts.wrong;
    }
    all.right += counts.right;
    all.missed += counts.missed;
    all.wrong += counts.wrong;
    result.macro_f1 += counts.f1() / static_cast<double>(labels);
    const Index positives = counts.right + counts.missed;
    result.roc.emplace_back();
    if (positives == 0 || positives == std::ssize(has)) continue;
    result.roc.back() = roc_area(column, has);
    result.macro_auc += result.roc.back()->area;
    ++areas;
  }
  result.micro_f1 = all.f1();
  if (areas > 0) result.macro_auc /= static_cast<double>(areas);
  return result;
}

}  // namespace matapprox::training
