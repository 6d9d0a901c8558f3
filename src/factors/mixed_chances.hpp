#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "factors/arithmetic_coding.hpp"

namespace matapprox::coding {

/// The logistic function 4096 / (1 + exp(-x / 256)) for integers x, and its inverse.
class Logistic {
 public:
  static constexpr int kLargest = 2047;  ///< largest |x|

  /// Computed by products and quotients alone, so that all computers agree in every bit.
  Logistic() {
    constexpr double kRatio = 0.99610136947011749;  // exp(-1 / 256)
    double power = 1;
    for (int x = 0; x <= kLargest; ++x) {
      const int value = std::min(static_cast<int>(4096 / (1 + power)), 4095);
      place(x) = static_cast<std::int16_t>(value);
      place(-x) = static_cast<std::int16_t>(4096 - value);
      power *= kRatio;
    }
    int x = -kLargest;
    for (int p = 0; p < 4096; ++p) {
      while (x < kLargest && place(x) < p) ++x;
      inverse_[static_cast<std::size_t>(p)] = static_cast<std::int16_t>(x);
    }
  }
  /// Between 1 and 4095.
  int operator()(int x) const { return values_[index_of(x)]; }
  /// The least x whose value is at least p, 0 <= p < 4096.
  int inverse(std::uint32_t p) const { return inverse_[p]; }

 private:
  static std::size_t index_of(int x) {
    const int shifted = x + kLargest;
    return static_cast<std::size_t>(shifted);
  }
  std::int16_t& place(int x) { return values_[index_of(x)]; }

  std::array<std::int16_t, 2 * kLargest + 1> values_{};
  std::array<std::int16_t, 4096> inverse_{};
};

inline const Logistic& logistic() {
  static const Logistic table;
  return table;
}

/// Weights of up to `inputs` chances, 2^16 for 1.
template <std::size_t inputs>
struct MixedWeights {
  static constexpr std::int32_t kFirst = 20000;
  std::array<std::int32_t, inputs> values = [] {
    std::array<std::int32_t, inputs> all{};
    all.fill(kFirst);
    return all;
  }();
};

/// One probability from several chances: logistic regression, whose weights learn by gradient
/// descent on the length of the code [Mah05].
template <std::size_t inputs>
class MixedChances {
 public:
  void add(Chance& chance) {
    chances_[count_] = &chance;
    values_[count_++] = logistic().inverse(chance.probability() >> 4);
  }
  /// Codes a decision; the weights and the chances that were added learn from it.
  template <class Coder>
  bool code(Coder& coder, MixedWeights<inputs>& weights, bool yes) {
    std::int64_t sum = 0;
    for (std::size_t k = 0; k < count_; ++k) sum += std::int64_t{weights.values[k]} * values_[k];
    constexpr std::int64_t kMost = Logistic::kLargest;
    const int p = logistic()(static_cast<int>(std::clamp(sum / 65536, -kMost, kMost)));
    const bool found = coder.code(static_cast<std::uint32_t>(16 * p + 8), yes);
    const int error = (found ? 4096 : 0) - p;
    for (std::size_t k = 0; k < count_; ++k) {
      const std::int32_t changed = weights.values[k] + ((values_[k] * error + 1024) >> 11);
      weights.values[k] = std::clamp(changed, -kMaxWeight, kMaxWeight);
      chances_[k]->learn(found);
    }
    count_ = 0;
    return found;
  }

 private:
  /// Rounding lets weights grow for ever while all decisions are as expected.
  static constexpr std::int32_t kMaxWeight = 1 << 24;
  std::array<Chance*, inputs> chances_{};
  std::array<int, inputs> values_{};
  std::size_t count_ = 0;
};

}  // namespace matapprox::coding
