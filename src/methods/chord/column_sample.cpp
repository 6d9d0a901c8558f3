#include "methods/chord/column_sample.hpp"

#include <algorithm>
#include <numeric>

#include "matapprox/core/random.hpp"

namespace matapprox::chord_fit {
namespace {

constexpr Index kMaxInSet = 256;

/// Fisher-Yates shuffle; `i` selects the permutation.
void permute(std::vector<Index>& list, std::uint64_t seed, Index i) {
  for (auto last = static_cast<Index>(list.size()) - 1; last > 0; --last) {
    const Index other = random_index(seed, RandomStream::kChordColumns, i, last, last + 1);
    std::swap(list[static_cast<std::size_t>(last)], list[static_cast<std::size_t>(other)]);
  }
}

}  // namespace

ColumnSample::ColumnSample(Index order, Index per_step, std::uint64_t seed)
    : per_step_(per_step), seed_(seed) {
  std::vector<Index> all(static_cast<std::size_t>(order));
  std::iota(all.begin(), all.end(), Index{0});
  permute(all, seed, 0);
  const Index in_set = std::min(order / 8, kMaxInSet);
  const auto first = all.begin() + in_set;
  validation_.assign(all.begin(), first);
  test_.assign(first, first + in_set);
  training_ = std::move(all);
  // For many kinds of matrix, neighbors in the list are neighbors in memory.
  std::sort(validation_.begin(), validation_.end());
  std::sort(test_.begin(), test_.end());
}

void ColumnSample::shuffle(Index epoch) {
  std::sort(training_.begin(), training_.end());
  permute(training_, seed_, epoch + 1);
  epoch_ = epoch;
}

std::vector<Index> ColumnSample::step(Index t) {
  const auto size = static_cast<Index>(training_.size());
  std::vector<Index> columns;
  for (Index p = t * per_step_; p < (t + 1) * per_step_; ++p) {
    if (p / size != epoch_) shuffle(p / size);
    columns.push_back(training_[static_cast<std::size_t>(p % size)]);
  }
  std::sort(columns.begin(), columns.end());
  return columns;
}

}  // namespace matapprox::chord_fit
