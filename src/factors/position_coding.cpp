#include "factors/position_coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <vector>

#include "factors/arithmetic_coding.hpp"
#include "factors/mixed_chances.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox::positions {
namespace {

using coding::Chance;
using coding::Decoder;
using coding::Encoder;
using coding::half_octaves;
using coding::MixedChances;
using coding::MixedWeights;

/// Up to this number of values, a position is coded bit by bit, with statistics for the values of
/// its neighbors; above it, as a prediction and its error.
constexpr Index kFewValues = 32;
/// Entries of a stream. Repetitions of few values are longer.
constexpr Index kStreamOfFew = Index{1} << 20;
constexpr Index kStreamOfMany = Index{1} << 18;

std::uint32_t hashed(std::uint32_t hash, std::uint32_t value) {
  hash = (hash + value + 1) * 0x9E3779B1U;
  return hash ^ hash >> 15;
}

// ---- Repetitions

/// Finds the place after which the last `length` entries occurred before, by a rolling hash, and
/// follows it while it predicts correctly.
class Repetition {
 public:
  explicit Repetition(std::size_t length) : length_(length), places_(kPlaces, 0) {
    for (std::size_t k = 0; k < length; ++k) oldest_ *= kFactor;
  }
  /// Number of entries that agree, up to kLongest and those after; 0 if there is no prediction.
  std::size_t agreeing() const { return agreeing_; }
  int prediction(const std::uint16_t* entries) const { return agreeing_ > 0 ? entries[next_] : 0; }

  /// Learns entry `at`; those before it are known.
  void learn(const std::uint16_t* entries, std::size_t at) {
    if (agreeing_ > 0 && entries[next_] == entries[at]) {
      ++agreeing_;
      ++next_;
    } else {
      agreeing_ = 0;
    }
    hash_ = hash_ * kFactor + entries[at] + 1;
    if (at >= length_) hash_ -= oldest_ * (entries[at - length_] + 1U);
    if (at + 1 < length_) return;
    std::uint32_t& place = places_[(hash_ * 0x9E3779B1U) >> (32U - kPlaceBits)];
    if (agreeing_ == 0 && place > 0) look_back(entries, at, place);
    place = static_cast<std::uint32_t>(at + 1);
  }

 private:
  static constexpr unsigned kPlaceBits = 16;
  static constexpr std::size_t kPlaces = std::size_t{1} << kPlaceBits;
  static constexpr std::uint32_t kFactor = 0x2C1B3C6D;
  static constexpr std::size_t kLongest = 2048;

  void look_back(const std::uint16_t* entries, std::size_t at, std::size_t place) {
    std::size_t count = 0;
    while (count < kLongest && count < place && entries[place - 1 - count] == entries[at - count])
      ++count;
    if (count < length_) return;
    agreeing_ = count;
    next_ = place;
  }

  std::size_t length_;
  std::vector<std::uint32_t> places_;  ///< the place after the entries with a hash; 0: none
  std::uint32_t oldest_ = 1;           ///< factor of the entry that leaves the hash
  std::uint32_t hash_ = 0;
  std::size_t next_ = 0;
  std::size_t agreeing_ = 0;
};

/// Classes of the numbers of entries that agree.
constexpr std::size_t kAgreeing = 33;

// ---- Neighbors

/// Known entries near row i of column j. Those outside of the stream equal others.
struct Neighbors {
  int left;         // (i, j-1)
  int above;        // (i-1, j)
  int above_left;   // (i-1, j-1)
  int below_left;   // (i+1, j-1)
  int above2;       // (i-2, j)
  int left2;        // (i, j-2)
  int below_left2;  // (i+1, j-2)
  int below2_left;  // (i+2, j-1)
};

class Entries {
 public:
  Entries(const Shape& shape, const Stream& stream, const std::uint16_t* entries)
      : shape_(shape), first_(stream.first), entries_(entries) {}

  Neighbors around(Index i, Index j) const {
    Neighbors n{};
    const int above = at(i - 1, j, -1);
    int left = at(i, j - 1, -1);
    if (left < 0) left = above;
    if (left < 0) left = at(0, j - 1, 0);
    n.left = left;
    n.above = above < 0 ? left : above;
    n.above_left = at(i - 1, j - 1, n.left);
    n.below_left = at(i + 1, j - 1, n.left);
    n.above2 = at(i - 2, j, n.above);
    n.left2 = at(i, j - 2, n.left);
    n.below_left2 = at(i + 1, j - 2, n.below_left);
    n.below2_left = at(i + 2, j - 1, n.below_left);
    return n;
  }

 private:
  int at(Index row, Index column, int otherwise) const {
    if (column < first_ || row < 0 || row >= shape_.entries_of(column)) return otherwise;
    return entries_[shape_.entries_before(column) - shape_.entries_before(first_) + row];
  }

  const Shape& shape_;
  Index first_;
  const std::uint16_t* entries_;
};

/// Everything known of an entry before it is coded.
struct Known {
  Neighbors near;
  Index row = 0;
  std::size_t agreeing = 0;  ///< class of the number of entries that agree; 0: no prediction
  int prediction = 0;
};

// ---- Few values: bit by bit

class FewValues {
 public:
  explicit FewValues(Index values)
      : bits_(std::bit_width(static_cast<std::uint32_t>(values - 1))),
        most_(static_cast<int>(values) - 1),
        by_left_(kNear),
        by_three_(kNear),
        by_row_(kNear),
        by_seven_(kFar) {}

  template <class Coder>
  int code(Coder& coder, const Known& known, int entry) {
    const Neighbors& n = known.near;
    const std::uint32_t left = hash_of(0, {n.left});
    const std::uint32_t three = hash_of(left, {n.above, n.above_left});
    const std::uint32_t seven = hash_of(three, {n.below_left, n.above2, n.left2, n.below2_left});
    const std::uint32_t row = hashed(1, static_cast<std::uint32_t>(known.row));
    const std::uint32_t predicted = static_cast<std::uint32_t>(known.prediction) | 1U << bits_;
    std::uint32_t found = 1;  // the bits so far, after a leading one
    for (auto bit = static_cast<unsigned>(bits_); bit-- > 0;) {
      mixed_.add(by_nothing_[found]);
      mixed_.add(by_left_[hashed(left, found) >> (32 - kNearBits)]);
      mixed_.add(by_three_[hashed(three, found) >> (32 - kNearBits)]);
      mixed_.add(by_seven_[hashed(seven, found) >> (32 - kFarBits)]);
      mixed_.add(by_row_[hashed(row, found) >> (32 - kNearBits)]);
      const bool agrees = known.agreeing > 0 && predicted >> (bit + 1) == found;
      if (agrees) mixed_.add(by_prediction_[2 * known.agreeing + (predicted >> bit & 1)]);
      const bool set = mixed_.code(coder,
                                   weights_[agrees ? known.agreeing : 0],
                                   (static_cast<std::uint32_t>(entry) >> bit & 1) != 0);
      found = 2 * found + (set ? 1 : 0);
    }
    return std::min(static_cast<int>(found) - (1 << bits_), most_);
  }

 private:
  static constexpr std::size_t kInputs = 6;
  static constexpr int kNearBits = 14;
  static constexpr int kFarBits = 18;
  static constexpr std::size_t kNear = std::size_t{1} << kNearBits;
  static constexpr std::size_t kFar = std::size_t{1} << kFarBits;

  static std::uint32_t hash_of(std::uint32_t hash, std::initializer_list<int> values) {
    for (const int value : values) hash = hashed(hash, static_cast<std::uint32_t>(value));
    return hash;
  }

  int bits_;
  int most_;
  std::array<Chance, 2 * kFewValues> by_nothing_;
  std::vector<Chance> by_left_;
  std::vector<Chance> by_three_;
  std::vector<Chance> by_row_;
  std::vector<Chance> by_seven_;
  std::array<Chance, 2 * kAgreeing> by_prediction_;
  std::array<MixedWeights<kInputs>, kAgreeing> weights_;
  MixedChances<kInputs> mixed_;
};

// ---- Many values: a prediction and its error

/// Prediction by the gradients of the neighbors and the mean of earlier errors in similar places
/// [WM97]. Computed in eighths of a position.
class ManyValues {
 public:
  explicit ManyValues(Index values)
      : most_(static_cast<int>(values) - 1), unit_(std::max(1, static_cast<int>(values / 256))) {}

  template <class Coder>
  int code(Coder& coder, const Known& known, int entry) {
    if (known.agreeing > 0) {
      Chance& chance = is_right_[known.agreeing];
      const bool right = coder.code(chance.probability(), entry == known.prediction);
      chance.learn(right);
      if (right) return known.prediction;
    }
    const Neighbors& n = known.near;
    const int along = std::abs(n.above - n.above2) + std::abs(n.left - n.above_left) +
                      std::abs(n.left - n.below_left);
    const int across = std::abs(n.left - n.left2) + std::abs(n.above - n.above_left) +
                       std::abs(n.below_left - n.below_left2);
    const int eighths = predicted(n, across - along);
    const std::size_t energy = size_class(along + across + 2 * last_error_, kEnergies);
    const std::size_t texture = texture_of(n, eighths);
    Bias& bias = biases_[std::min<std::size_t>(energy / 3, 7) * kTextures + texture];
    const int guess = std::clamp((eighths + bias.mean() + 4) >> 3, 0, most_);
    const auto level = static_cast<std::size_t>(guess * kLevels / (most_ + 1));
    const Classes classes{energy,
                          texture,
                          pair(std::abs(n.left - n.above_left) + std::abs(n.left - n.below_left),
                               std::abs(n.above - n.above_left) + std::abs(n.left - n.left2)),
                          pair(last_error_, std::abs(n.above - n.left)),
                          kPairSizes * level + size_class(along + across, kPairSizes)};
    const int error = code_error(coder, classes, guess, entry - guess);
    const int found = std::clamp(guess + error, 0, most_);
    bias.learn(8 * found - eighths);
    last_error_ = std::abs(error);
    return found;
  }

 private:
  static constexpr std::size_t kEnergies = 24;
  static constexpr std::size_t kTextures = 256;
  static constexpr std::size_t kSizes = 18;  ///< bits of an error, up to 17
  static constexpr std::size_t kPairSizes = 16;
  static constexpr int kLevels = 64;
  static constexpr int kLearnedBits = 2;

  /// Classes of an entry; each has statistics of its own.
  struct Classes {
    std::size_t energy;   ///< differences of the neighbors and the last error
    std::size_t texture;  ///< set of the neighbors that are above the prediction
    std::size_t steps;    ///< differences along and across columns
    std::size_t errors;   ///< the last error, and the difference of the nearest neighbors
    std::size_t level;    ///< the prediction, and differences
  };

  struct Bias {
    int sum = 0;
    int count = 0;
    int mean() const { return count == 0 ? 0 : sum / count; }
    void learn(int error) {
      sum += error;
      if (++count < 64) return;
      sum /= 2;
      count /= 2;
    }
  };

  static std::size_t size_class(int size, std::size_t count) {
    return half_octaves(static_cast<std::uint64_t>(size), count);
  }
  static std::size_t pair(int first, int second) {
    return kPairSizes * size_class(first, kPairSizes) + size_class(second, kPairSizes);
  }

  /// The mean of the left and the upper neighbor, corrected for the diagonal ones, and nearer to
  /// one of the two if the entries change much more across columns than along them, or less.
  int predicted(const Neighbors& n, int excess) const {
    const int left = 8 * n.left;
    const int above = 8 * n.above;
    if (excess > 80 * unit_) return above;
    if (excess < -80 * unit_) return left;
    const int mean = 4 * (n.left + n.above) + 2 * (n.below_left - n.above_left);
    if (excess > 32 * unit_) return (mean + above) / 2;
    if (excess > 8 * unit_) return (3 * mean + above) / 4;
    if (excess < -32 * unit_) return (mean + left) / 2;
    if (excess < -8 * unit_) return (3 * mean + left) / 4;
    return mean;
  }

  static std::size_t texture_of(const Neighbors& n, int eighths) {
    std::size_t texture = 0;
    std::size_t bit = 1;
    for (const int value : {n.left,
                            n.above,
                            n.above_left,
                            n.below_left,
                            n.above2,
                            n.left2,
                            2 * n.above - n.above2,
                            2 * n.left - n.left2}) {
      if (8 * value > eighths) texture |= bit;
      bit *= 2;
    }
    return texture;
  }

  /// The number of bits of the error, its bits after the leading one, and its sign, unless only one
  /// sign is possible.
  template <class Coder>
  int code_error(Coder& coder, const Classes& classes, int guess, int error) {
    const auto size = static_cast<std::uint32_t>(std::abs(error));
    const auto wanted = static_cast<std::size_t>(std::bit_width(size));
    std::size_t bits = 0;
    for (; bits + 1 < kSizes; ++bits) {
      mixed_.add(by_energy_[classes.energy][bits]);
      mixed_.add(by_texture_[classes.texture][bits]);
      mixed_.add(by_steps_[classes.steps][bits]);
      mixed_.add(by_errors_[classes.errors][bits]);
      mixed_.add(by_level_[classes.level][bits]);
      if (!mixed_.code(coder, weights_[bits], bits < wanted)) break;
    }
    if (bits == 0) return 0;
    int found = 1;
    for (int bit = static_cast<int>(bits) - 2; bit >= 0; --bit) {
      const int depth = static_cast<int>(bits) - 2 - bit;
      const bool set = (size >> bit & 1) != 0;
      if (depth < kLearnedBits) {
        Chance& chance = mantissa_[bits][depth == 0 ? 0 : 1 + static_cast<std::size_t>(found & 1)];
        const bool one = coder.code(chance.probability(), set);
        chance.learn(one);
        found = 2 * found + (one ? 1 : 0);
      } else {
        found = 2 * found + (coder.code(coding::kHalf, set) ? 1 : 0);
      }
    }
    if (guess + found > most_) return -found;
    if (guess - found < 0) return found;
    Chance& chance = sign_[classes.texture];
    const bool negative = coder.code(chance.probability(), error < 0);
    chance.learn(negative);
    return negative ? -found : found;
  }

  int most_;
  int unit_;  ///< a 256th of the range
  int last_error_ = 0;
  std::array<Chance, kAgreeing> is_right_;
  std::array<std::array<Chance, kSizes>, kEnergies> by_energy_;
  std::array<std::array<Chance, kSizes>, kTextures> by_texture_;
  std::array<std::array<Chance, kSizes>, kPairSizes * kPairSizes> by_steps_;
  std::array<std::array<Chance, kSizes>, kPairSizes * kPairSizes> by_errors_;
  std::array<std::array<Chance, kSizes>, kLevels * kPairSizes> by_level_;
  std::array<MixedWeights<5>, kSizes> weights_;
  MixedChances<5> mixed_;
  std::array<std::array<Chance, 3>, kSizes> mantissa_;
  std::array<Chance, kTextures> sign_;
  std::array<Bias, 8 * kTextures> biases_;
};

// ---- Streams

/// Codes the entries in their order. A decoder writes them.
template <class Coder, class Model, class Entry>
void code_entries(
    Coder& coder, Model& model, const Shape& shape, const Stream& stream, Entry* entries) {
  constexpr std::size_t kShort = 16;
  constexpr std::size_t kLong = 48;
  constexpr std::size_t kPolled = 4096;
  Repetition shorter(kShort);
  Repetition longer(kLong);
  const Entries near(shape, stream, entries);
  std::size_t at = 0;
  for (Index j = stream.first; j < stream.end; ++j) {
    for (Index i = 0; i < shape.entries_of(j); ++i, ++at) {
      if (at % kPolled == 0) throw_if_stop_requested();
      const Repetition& best = longer.agreeing() >= shorter.agreeing() ? longer : shorter;
      const Known known{
          near.around(i, j), i, half_octaves(best.agreeing(), kAgreeing), best.prediction(entries)};
      const int entry = model.code(coder, known, entries[at]);
      if constexpr (Coder::kDecodes) entries[at] = static_cast<std::uint16_t>(entry);
      shorter.learn(entries, at);
      longer.learn(entries, at);
    }
  }
}

template <class Coder, class Entry>
void code_stream(Coder& coder, const Shape& shape, const Stream& stream, Entry* entries) {
  if (shape.values <= kFewValues) {
    FewValues model(shape.values);
    code_entries(coder, model, shape, stream, entries);
  } else {
    const auto model = std::make_unique<ManyValues>(shape.values);
    code_entries(coder, *model, shape, stream, entries);
  }
}

Index entries_of(const Shape& shape, const Stream& stream) {
  return shape.entries_before(stream.end) - shape.entries_before(stream.first);
}

}  // namespace

std::vector<Stream> streams_of(const Shape& shape) {
  const Index most = shape.values <= kFewValues ? kStreamOfFew : kStreamOfMany;
  std::vector<Stream> streams;
  Stream next;
  for (Index j = 0; j < shape.cols; ++j) {
    next.end = j + 1;
    if (j + 1 < shape.cols && entries_of(shape, {next.first, j + 2}) <= most) continue;
    streams.push_back(next);
    next.first = j + 1;
  }
  return streams;
}

std::vector<std::uint8_t> encode(const Shape& shape,
                                 const Stream& stream,
                                 std::span<const std::uint16_t> entries) {
  Encoder encoder;
  code_stream(encoder, shape, stream, entries.data());
  std::vector<std::uint8_t> bytes = encoder.finish();
  const Index least = (entries_of(shape, stream) - 1) / kMaxEntriesPerByte + 1;
  bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(least)));
  return bytes;
}

std::vector<std::uint16_t> decode(const Shape& shape,
                                  const Stream& stream,
                                  std::span<const std::uint8_t> bytes) {
  std::vector<std::uint16_t> entries(static_cast<std::size_t>(entries_of(shape, stream)));
  Decoder decoder(bytes);
  code_stream(decoder, shape, stream, entries.data());
  return entries;
}

}  // namespace matapprox::positions
