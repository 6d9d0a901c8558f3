#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// Adaptive arithmetic coding [MNW98] of binary decisions, with 32 bits of range.

namespace matapprox::coding {

/// Probabilities have 16 bits.
inline constexpr std::uint32_t kHalf = 1U << 15;
inline constexpr std::uint32_t kMinRange = 1U << 24;

inline std::uint32_t part_of(std::uint32_t range, std::uint32_t probability) {
  return static_cast<std::uint32_t>((std::uint64_t{range} * probability) >> 16);
}

/// Estimated probability that a decision is yes: the mean of a fast and of a slow average, between
/// 79 and 65456 of 2^16, where both stop. The first decisions count more.
class Chance {
 public:
  std::uint32_t probability() const { return (std::uint32_t{fast_} + slow_) / 2; }
  void learn(bool yes) {
    const int shift = kShifts[seen_];
    const int target = yes ? 65535 : 0;
    fast_ = static_cast<std::uint16_t>(fast_ + (target - fast_) / (1 << std::min(shift, kFast)));
    slow_ = static_cast<std::uint16_t>(slow_ + (target - slow_) / (1 << shift));
    if (seen_ + 1U < kShifts.size()) ++seen_;
  }

 private:
  static constexpr int kFast = 5;
  /// Logarithm of the number of decisions over which is averaged.
  static constexpr auto kShifts = [] {
    std::array<std::uint8_t, 65> shifts{};
    for (std::size_t k = 0; k < shifts.size(); ++k) {
      shifts[k] = static_cast<std::uint8_t>(k < 64 ? std::bit_width(k + 1) : 7);
    }
    return shifts;
  }();
  std::uint16_t fast_ = kHalf;
  std::uint16_t slow_ = kHalf;
  std::uint8_t seen_ = 0;
};

class Encoder {
 public:
  static constexpr bool kDecodes = false;
  bool code(std::uint32_t probability, bool yes) {
    const std::uint32_t part = part_of(range_, probability);
    if (yes) {
      range_ = part;
    } else {
      low_ += part;
      range_ -= part;
    }
    while (range_ < kMinRange) {
      range_ <<= 8;
      shift();
    }
    return yes;
  }
  /// The shortest bytes that stand for a number in the range; missing bytes count as 0.
  std::vector<std::uint8_t> finish() {
    low_ = (low_ + range_ - 1) & ~std::uint64_t{kMinRange - 1};
    for (int k = 0; k < 5; ++k) shift();
    bytes_.erase(bytes_.begin());  // always 0
    while (!bytes_.empty() && bytes_.back() == 0) bytes_.pop_back();
    return std::move(bytes_);
  }

 private:
  /// Moves the highest byte to the result, once no carry can change it.
  void shift() {
    if (low_ < 0xFF000000U || low_ > 0xFFFFFFFFU) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      bytes_.push_back(static_cast<std::uint8_t>(held_ + carry));
      bytes_.insert(bytes_.end(), ones_, static_cast<std::uint8_t>(0xFF + carry));
      ones_ = 0;
      held_ = static_cast<std::uint8_t>(low_ >> 24);
    } else {
      ++ones_;
    }
    low_ = (low_ << 8) & 0xFFFFFFFFU;
  }

  std::vector<std::uint8_t> bytes_;
  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xFFFFFFFFU;
  std::uint8_t held_ = 0;
  std::size_t ones_ = 0;  ///< bytes 0xFF after the held one
};

class Decoder {
 public:
  static constexpr bool kDecodes = true;
  explicit Decoder(std::span<const std::uint8_t> bytes) : bytes_(bytes) {
    for (int k = 0; k < 4; ++k) code_ = code_ << 8 | next();
  }
  bool code(std::uint32_t probability, bool /*unknown*/) {
    const std::uint32_t part = part_of(range_, probability);
    const bool yes = code_ < part;
    if (yes) {
      range_ = part;
    } else {
      code_ -= part;
      range_ -= part;
    }
    while (range_ < kMinRange) {
      code_ = code_ << 8 | next();
      range_ <<= 8;
    }
    return yes;
  }

 private:
  std::uint32_t next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }

  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
  std::uint32_t range_ = 0xFFFFFFFFU;
  std::uint32_t code_ = 0;
};

/// Rounds to half octaves: 0, 1, 2, 3, 4-5, 6-7, 8-11, ...
inline std::size_t half_octaves(std::uint64_t size, std::size_t count) {
  if (size < 4) return size;
  const auto width = static_cast<std::size_t>(std::bit_width(size));
  return std::min(2 * width - 2 + ((size >> (width - 2)) & 1), count - 1);
}

}  // namespace matapprox::coding
