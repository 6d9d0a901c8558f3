#pragma once

#include <string_view>
#include <utility>

#include "tasks/draws.hpp"

namespace matapprox::tasks {

/// Pairs of positions t < u of a sequence with min_gap <= u - t <= max_gap, all equally likely.
class PositionPairs {
 public:
  /// max_gap 0: length - 1. Throws InvalidArgument, whose message begins with `who`, for a length
  /// below 2 or gaps that are not 1 <= min_gap <= max_gap < length.
  PositionPairs(std::string_view who, Index length, Index min_gap, Index max_gap);

  std::pair<Index, Index> draw(SampleDraws& draws) const;
  /// The probability that position 0 is in the pair.
  double share_of_first() const;

 private:
  /// Number of pairs with one of the `gaps` smallest gaps g: the sum of length - g.
  Index count(Index gaps) const;

  Index length_;
  Index min_gap_;
  Index gaps_ = 0;
};

}  // namespace matapprox::tasks
