#include "tasks/position_pairs.hpp"

namespace matapprox::tasks {

PositionPairs::PositionPairs(std::string_view who, Index length, Index min_gap, Index max_gap)
    : length_(length), min_gap_(min_gap) {
  require_length(who, length, 2);
  require(max_gap >= 0 && max_gap < length,
          "{}: max_gap {} is outside 1..{} (0: {})",
          who,
          max_gap,
          length - 1,
          length - 1);
  const Index largest = max_gap == 0 ? length - 1 : max_gap;
  require(min_gap >= 1 && min_gap <= largest,
          "{}: min_gap {} is outside 1..{}, the largest gap",
          who,
          min_gap,
          largest);
  gaps_ = largest - min_gap + 1;
}

Index PositionPairs::count(Index gaps) const {
  return gaps * (length_ - min_gap_) - gaps * (gaps - 1) / 2;
}

std::pair<Index, Index> PositionPairs::draw(SampleDraws& draws) const {
  // Pairs are numbered by gap, then by position; the gap of pair k is found by bisection.
  const Index k = draws.index(count(gaps_));
  Index low = 0;
  Index high = gaps_;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (count(middle) <= k ? low : high) = middle;
  }
  const Index first = k - count(low);
  return {first, first + min_gap_ + low};
}

double PositionPairs::share_of_first() const {
  return static_cast<double>(gaps_) / static_cast<double>(count(gaps_));
}

}  // namespace matapprox::tasks
