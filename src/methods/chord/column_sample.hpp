#pragma once

#include <cstdint>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::chord_fit {

/// Which columns a sampled fit reads when: a function of the seed alone. Training uses every
/// column, also those of the two fixed sets, one to choose the best point by and one to state its
/// error on: column c of the product is the only one that entries of W_M in column c have a part
/// in, so that a column which is left out of training stays as it was at the start and says nothing
/// about the others. The two sets are drawn without regard to the order of training, which makes
/// the error on them an estimate without bias at any step.
class ColumnSample {
 public:
  /// `order` >= 32; `per_step` in 1..order.
  ColumnSample(Index order, Index per_step, std::uint64_t seed);

  const std::vector<Index>& validation() const { return validation_; }
  const std::vector<Index>& test() const { return test_; }
  /// Columns of training step t = 0, 1, ...: every column once before any is used again, in an
  /// order that is new each time.
  std::vector<Index> step(Index t);

 private:
  void shuffle(Index epoch);

  Index per_step_;
  std::uint64_t seed_;
  std::vector<Index> validation_;
  std::vector<Index> test_;
  std::vector<Index> training_;  ///< in the order of epoch_
  Index epoch_ = -1;
};

}  // namespace matapprox::chord_fit
