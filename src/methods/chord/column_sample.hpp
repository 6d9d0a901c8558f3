#pragma once

#include <cstdint>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox::chord_fit {

/// The columns that a sampled fit reads in each step, a function of the seed alone. Two fixed sets
/// serve to choose the best point (validation) and to state its error (test). Training uses every
/// column, including these: entries of W_M in column c contribute only to column c of the product,
/// so a column left out of training stays as it was at the start and says nothing about the others.
/// The two sets are drawn without regard to the order of training, which makes the error on them an
/// unbiased estimate at any step.
class ColumnSample {
 public:
  /// `order` >= 32; `per_step` in 1..order.
  ColumnSample(Index order, Index per_step, std::uint64_t seed);

  const std::vector<Index>& validation() const { return validation_; }
  const std::vector<Index>& test() const { return test_; }
  /// Returns the columns of training step t = 0, 1, ...: every column once before any is used
  /// again, in a new order each time.
  std::vector<Index> step(Index t);

 private:
  void shuffle(Index epoch);

  Index per_step_;
  std::uint64_t seed_;
  std::vector<Index> validation_;
  std::vector<Index> test_;
  std::vector<Index> training_;  ///< training columns, in the order of epoch_
  Index epoch_ = -1;
};

}  // namespace matapprox::chord_fit
