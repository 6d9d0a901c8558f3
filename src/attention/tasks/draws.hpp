#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {

/// Length of the longest sequence: its draws fit the 2^24 counters of an attempt.
inline constexpr Index kMaxLength = Index{1} << 24;

/// Throws InvalidArgument unless an option of the task `who` is in least .. most.
template <class Value>
void require_within(
    std::string_view who, std::string_view option, Value value, Value least, Value most) {
  require(value >= least && value <= most,
          "{}: {} {} is outside {}..{}",
          who,
          option,
          value,
          least,
          most);
}

/// Throws InvalidArgument unless `length` is in least .. kMaxLength.
inline void require_length(std::string_view who, Index length, Index least) {
  require_within(who, "length", length, least, kMaxLength);
}

/// The sequence of random numbers of one sample, which depends only on the seed, the split, the
/// sample and the attempt. RandomStream::kTask with i = split 2^46 + sample and
/// j = attempt 2^24 + number of the draw, four words a draw.
class SampleDraws {
 public:
  static constexpr Index kSamples = Index{1} << 46;
  static constexpr Index kAttempts = Index{1} << 24;

  SampleDraws(std::uint64_t seed, Split split, Index sample, Index attempt = 0)
      : seed_(seed), i_(static_cast<Index>(split) * kSamples + sample), j_(attempt * kAttempts) {
    require(sample >= 0 && sample < kSamples, "task: sample {} is outside 0..2^46-1", sample);
  }

  std::uint32_t word() {
    if (used_ == words_.size()) {
      words_ = random_words(seed_, RandomStream::kTask, i_, j_++);
      used_ = 0;
    }
    return words_[used_++];
  }
  /// Uniform in (0, 1), with 53 bits, from two words.
  double uniform() {
    const std::uint64_t low = word();
    const std::uint64_t high = word();
    return (static_cast<double>(((high << 32U) | low) >> 11U) + 0.5) * 0x1p-53;
  }
  /// Uniform in 0 .. bound-1, from two words.
  Index index(Index bound) {
    return std::min(static_cast<Index>(uniform() * static_cast<double>(bound)), bound - 1);
  }
  /// Uniform in 0 .. bound-1 for a small bound, from one word: each probability is within 2^-32 of
  /// 1 / bound.
  std::int32_t symbol(std::int32_t bound) {
    return static_cast<std::int32_t>((std::uint64_t{word()} * static_cast<std::uint64_t>(bound)) >>
                                     32U);
  }

 private:
  std::uint64_t seed_;
  Index i_;
  Index j_;
  std::array<std::uint32_t, 4> words_{};
  std::size_t used_ = 4;
};

/// Fisher-Yates shuffle, from the last position down.
template <class Value>
void shuffle(std::vector<Value>& values, SampleDraws& draws) {
  for (Index k = std::ssize(values) - 1; k > 0; --k) {
    std::swap(values[static_cast<std::size_t>(k)],
              values[static_cast<std::size_t>(draws.index(k + 1))]);
  }
}

/// Draws `count` distinct ids of first .. first + ids - 1: the first steps of a Fisher-Yates
/// shuffle, from the first position up.
inline std::vector<std::int32_t> draw_different(std::int32_t first,
                                                Index ids,
                                                Index count,
                                                SampleDraws& draws) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(ids));
  std::iota(all.begin(), all.end(), first);
  for (Index k = 0; k < count; ++k) {
    const Index other = k + draws.index(ids - k);
    std::swap(all[static_cast<std::size_t>(k)], all[static_cast<std::size_t>(other)]);
  }
  all.resize(static_cast<std::size_t>(count));
  return all;
}

/// A task whose samples are drawn on request, without limit.
class DrawnTask : public Task {
 public:
  const TaskShape& shape() const override { return shape_; }
  Index size(Split /*split*/) const override { return 0; }

 protected:
  explicit DrawnTask(std::uint64_t seed) : seed_(seed) {}

  std::uint64_t seed_;
  TaskShape shape_;
};

/// Empties a sample; its vectors keep their memory.
inline void clear(Sample& sample) {
  sample.tokens.clear();
  sample.features.clear();
  sample.mask.clear();
  sample.labels.clear();
  sample.number = 0;
  sample.label = 0;
}

}  // namespace matapprox::tasks
