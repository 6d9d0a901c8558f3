#pragma once

#include "device/cuda/kernels/random.hpp"
#include "device/cuda/kernels/tiles.hpp"
#include "pass.hpp"

namespace matapprox::cuda {

/// Dropout of a block of `length` rows for each sample. Random numbers are drawn from (seed,
/// running number of the sample, number of the dropout, position in the sample), as in the
/// library's Dropout, so that both drop the same numbers.
template <class T>
struct DropoutMask {
  std::uint64_t limit = 0;  ///< 0: nothing is dropped
  T scale = 1;
  std::uint64_t seed = 1;
  SampleNumbers samples;
  Index first_counter = 0;
  Index length = 1;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void apply(Index row, Index column, Numbers<T, kWidth>& numbers) const {
    if (limit == 0) return;
    const Index sample = row / length;
    const Index first = (row - sample * length) * columns + column;
    // A piece begins at a multiple of its width, 1, 2 or 4, and four positions share one counter:
    // one draw serves the whole piece.
    const RandomWords words = random_words_of(
        seed, attention::kDropoutStream, samples.of(sample), first_counter + first / 4);
    for (int c = 0; c < kWidth; ++c) {
      const bool dropped = words.values[first % 4 + c] < limit;
      numbers.values[c] = dropped ? T(0) : numbers.values[c] * scale;
    }
  }
};

/// `number` distinguishes the dropouts of a model; `length` is the number of rows of a sample.
template <class T, class Queue>
DropoutMask<T> dropout_mask(
    const Pass<T, Queue>& pass, double rate, Index number, Index length, Index columns) {
  DropoutMask<T> mask;
  mask.limit = dropout_limit(rate);
  mask.scale = T(1 / (1 - rate));
  mask.seed = pass.seed;
  mask.samples = pass.numbers;
  mask.first_counter = number << attention::kDropoutNumberShift;
  mask.length = length;
  mask.columns = columns;
  return mask;
}

/// y = dropout(x + bias + inner) + outer. Null pointers are not added. y may be x, inner or outer.
template <class T>
struct DroppedSum {
  const T* x = nullptr;
  const T* bias = nullptr;
  const T* inner = nullptr;
  const T* outer = nullptr;
  DropoutMask<T> mask;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    auto sum = load_numbers<T, kWidth>(x + at);
    for (int c = 0; c < kWidth; ++c) {
      if (bias != nullptr) sum.values[c] += bias[column + c];
      if (inner != nullptr) sum.values[c] += inner[at + c];
    }
    mask.apply(row, column, sum);
    if (outer != nullptr) {
      for (int c = 0; c < kWidth; ++c) sum.values[c] += outer[at + c];
    }
    store_numbers(sum, y + at);
  }
};

}  // namespace matapprox::cuda
