#pragma once

#include <cstdint>
#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::training {

/// The area under the receiver operating characteristic, the probability that a positive sample
/// scores above a negative one (equal scores count one half), and its 95 % interval [DDC88].
struct RocArea {
  double area = 0;
  double low = 0;
  double high = 0;
  Index positives = 0;
  Index negatives = 0;
};

/// Computes the area from n scores, where larger means more likely positive, and their 0/1 labels.
/// The interval assumes a normal distribution of the logit of the area, so that it stays within
/// 0..1, with the variance of DeLong. If no pair is in the wrong order, or all are, it is the exact
/// interval of a proportion with as many trials as there are samples of the rarer class. Uses
/// midranks [SX14]: n log n comparisons, 4 n numbers of memory. Throws InvalidArgument unless there
/// are samples of both classes, and for a score that is not finite.
RocArea roc_area(std::span<const double> scores, std::span<const std::uint8_t> positive);

}  // namespace matapprox::training
