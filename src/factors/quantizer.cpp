#include "factors/quantizer.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace matapprox {
namespace {

/// Number of scales tried, in steps of a twentieth of the one at which nothing is clipped. From
/// 9 bits on, clipping gains nothing for columns of fewer than a million values.
int scale_steps(int bits) { return bits <= 4 ? 14 : 10; }
constexpr int kWidestClipped = 8;
/// Number of values that are examined to choose a scale.
constexpr std::size_t kScaleSample = 2048;

/// Every `times`-th value, which represents `times` values, and the largest one.
struct ScaleSample {
  std::vector<double> values;
  double times = 1;
  double largest = 0;
};

ScaleSample sample_of(std::span<const double> values) {
  const std::size_t step =
      std::max<std::size_t>((values.size() + kScaleSample - 1) / kScaleSample, 1);
  ScaleSample sample;
  sample.times = static_cast<double>(step);
  for (std::size_t i = 0; i < values.size(); i += step) sample.values.push_back(values[i]);
  for (const double value : values) sample.largest = std::max(sample.largest, std::abs(value));
  return sample;
}

double squared_error(const ScaleSample& sample, int bits, double scale) {
  const double low = -std::ldexp(1.0, bits - 1);
  const double high = -low - 1;
  const double inverse = 1 / scale;
  // Adding this to a number far below 2^52 rounds it to an integer without a function call.
  constexpr double kWhole = 0x1.8p52;
  const auto error = [&](double value) {
    const double level = std::clamp(value * inverse - kQuantizerOffset, low, high);
    const double difference = value - scale * (((level + kWhole) - kWhole) + kQuantizerOffset);
    return difference * difference;
  };
  std::array<double, 4> sums{};
  const std::size_t whole = sample.values.size() / 4 * 4;
  for (std::size_t i = 0; i < whole; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) sums[k] += error(sample.values[i + k]);
  }
  double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  for (std::size_t i = whole; i < sample.values.size(); ++i) sum += error(sample.values[i]);
  return sample.times * sum + error(sample.largest);
}

/// Noise of optimal uniform quantizers of a normal variable with 2^b levels, found by minimizing
/// the integral of the squared error over the step; the first ones are those of [Max60], table II.
constexpr std::array<double, 17> kNormalNoise{1.0,
                                              0.363380,
                                              0.118846,
                                              0.0374397,
                                              0.0115429,
                                              0.00349521,
                                              0.00104005,
                                              3.04333e-4,
                                              8.76862e-5,
                                              2.49190e-5,
                                              6.99701e-6,
                                              1.94441e-6,
                                              5.35537e-7,
                                              1.46369e-7,
                                              3.97394e-8,
                                              1.07270e-8,
                                              2.88092e-9};

}  // namespace

bool is_value_width(int bits) { return (bits >= 1 && bits <= 16) || bits == 32 || bits == 64; }

double quantization_noise(int bits) {
  if (bits == 32) return 0x1p-48 / 3;
  if (bits == 64) return 0x1p-106 / 3;
  return kNormalNoise[static_cast<std::size_t>(bits)];
}

std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

float from_bfloat16(std::uint16_t value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16U);
}

float quantizer_scale(std::span<const double> values, int bits) {
  const ScaleSample sample = sample_of(values);
  const auto rounded = [](double scale) {
    return from_bfloat16(to_bfloat16(static_cast<float>(scale)));
  };
  const double unclipped = std::ldexp(sample.largest, 1 - bits);
  if (!(static_cast<float>(unclipped) > 0)) return 0;
  if (bits > kWidestClipped) return rounded(unclipped * (1 + 0x1p-8));
  float best = rounded(unclipped);
  double least = squared_error(sample, bits, best);
  for (int step = 1; step <= scale_steps(bits); ++step) {
    const float scale = rounded(unclipped * (1 - 0.05 * step));
    const double error = squared_error(sample, bits, scale);
    if (error >= least) continue;
    least = error;
    best = scale;
  }
  // Zeros are better than few large values among zeros, for which there is no level.
  double energy = sample.largest * sample.largest;
  for (const double value : sample.values) energy += sample.times * value * value;
  return least < energy ? best : 0;
}

void quantize(std::span<const double> values, int bits, double scale, std::int32_t* q) {
  const double low = -std::ldexp(1.0, bits - 1);
  const double high = -low - 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double level = scale > 0 ? std::floor(values[i] / scale) : 0;
    q[i] = static_cast<std::int32_t>(std::clamp(level, low, high));
  }
}

void append_packed(std::span<const std::int32_t> integers,
                   int bits,
                   std::vector<std::uint8_t>& data) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t waiting = 0;
  int held = 0;
  for (const std::int32_t q : integers) {
    waiting |= (static_cast<std::uint64_t>(q) & mask) << held;
    held += bits;
    for (; held >= 8; held -= 8, waiting >>= 8U) data.push_back(static_cast<std::uint8_t>(waiting));
  }
  if (held > 0) data.push_back(static_cast<std::uint8_t>(waiting));
}

void append_ieee(std::span<const double> values, int bits, std::vector<std::uint8_t>& data) {
  for (const double value : values) {
    const std::uint64_t word = bits == 64 ? std::bit_cast<std::uint64_t>(value)
                                          : std::bit_cast<std::uint32_t>(static_cast<float>(value));
    for (int shift = 0; shift < bits; shift += 8) {
      data.push_back(static_cast<std::uint8_t>(word >> static_cast<unsigned>(shift)));
    }
  }
}

bool ieee_finite(const std::uint8_t* data, Index count, int bits) {
  // Little endian: the exponent is in the last two bytes.
  const Index bytes = bits / 8;
  const unsigned exponent = bits == 64 ? 0x7FF0U : 0x7F80U;
  for (Index i = 1; i <= count; ++i) {
    const unsigned top = data[i * bytes - 2] | static_cast<unsigned>(data[i * bytes - 1]) << 8U;
    if ((top & exponent) == exponent) return false;
  }
  return true;
}

namespace {

/// Logarithms of prices are bisected until they agree to this, which takes 37 steps.
constexpr double kSamePrice = 1e-9;
constexpr int kMaxSteps = 64;
/// Lowest price, relative to the highest one: everything is stored in doubles.
constexpr double kLowestPrice = 1e-40;

}  // namespace

ComponentBits::ComponentBits(Index rows,
                             Index cols,
                             double overhead,
                             const std::vector<int>& widths) {
  for (const int bits : widths) {
    const Index values = packed_bytes(rows, bits) + packed_bytes(cols, bits);
    Width width{bits, static_cast<double>(values) + overhead};
    width.noise = 2 * quantization_noise(bits);
    const auto threshold_above = [&](const Width& below) {
      return (width.bytes - below.bytes) / (below.noise - width.noise);
    };
    // A width above the line between its neighbors is never the best.
    while (!widths_.empty() && threshold_above(widths_.back()) <= widths_.back().threshold) {
      widths_.pop_back();
    }
    width.threshold = threshold_above(widths_.empty() ? Width{} : widths_.back());
    widths_.push_back(width);
  }
}

ComponentBits::Choice ComponentBits::at_price(const Vector& squares, double price) const {
  Choice choice;
  choice.price = price;
  choice.bits.assign(static_cast<std::size_t>(squares.size()), 0);
  for (Index k = 0; k < squares.size(); ++k) {
    const auto wider = std::find_if(widths_.rbegin(), widths_.rend(), [&](const Width& width) {
      return squares(k) > price * width.threshold;
    });
    if (wider == widths_.rend()) {
      choice.squared_error += squares(k);
      continue;
    }
    choice.bits[static_cast<std::size_t>(k)] = wider->bits;
    choice.bytes += wider->bytes;
    choice.squared_error += wider->noise * squares(k);
    choice.kept = k + 1;
  }
  return choice;
}

/// Bisects the logarithm of the price between one at which nothing is stored and one at which
/// everything is, in a number of steps that does not depend on the values. `fits` is true for all
/// prices from some price on, or, if `dearest` is set, up to some price. Returns the choice at the
/// price nearest to that edge for which `fits` is true.
template <class Fits>
ComponentBits::Choice ComponentBits::at_edge(const Vector& squares,
                                             bool dearest,
                                             const Fits& fits) const {
  double high = std::log(squares(0) / widths_.front().threshold);
  double low = high + std::log(kLowestPrice);
  // Rounding must not put the highest price below that of the largest square.
  Choice best = at_price(squares, dearest ? std::exp(low) : std::exp(high) * (1 + kSamePrice));
  for (int step = 0; step < kMaxSteps && high - low > kSamePrice; ++step) {
    const double middle = low + 0.5 * (high - low);
    Choice choice = at_price(squares, std::exp(middle));
    const bool fit = fits(choice);
    (fit == dearest ? low : high) = middle;
    if (fit) best = std::move(choice);
  }
  return best;
}

ComponentBits::Choice ComponentBits::within_bytes(const Vector& squares, double bytes) const {
  if (squares.size() == 0 || !(squares(0) > 0)) return at_price(squares, 1);
  Choice all = at_price(squares, squares(0) / widths_.front().threshold * kLowestPrice);
  if (all.bytes <= bytes) return all;
  Choice best =
      at_edge(squares, false, [&](const Choice& choice) { return choice.bytes <= bytes; });
  // Equal squares change their width at the same price. As many of them as fit get the next one.
  const Choice next = at_price(squares, best.price * (1 - 4 * kSamePrice));
  const auto width_of = [&](int bits) {
    const auto found = std::find_if(
        widths_.begin(), widths_.end(), [&](const Width& width) { return width.bits == bits; });
    return found == widths_.end() ? Width{} : *found;
  };
  for (Index k = 0; k < next.kept; ++k) {
    int& bits = best.bits[static_cast<std::size_t>(k)];
    const Width now = width_of(bits);
    const Width wider = width_of(next.bits[static_cast<std::size_t>(k)]);
    if (wider.bits <= now.bits || best.bytes + wider.bytes - now.bytes > bytes) continue;
    bits = wider.bits;
    best.bytes += wider.bytes - now.bytes;
    best.squared_error -= (now.noise - wider.noise) * squares(k);
    best.kept = std::max(best.kept, k + 1);
  }
  return best;
}

ComponentBits::Choice ComponentBits::within_error(const Vector& squares,
                                                  double squared_error) const {
  if (squares.size() == 0 || !(squares(0) > 0)) return at_price(squares, 1);
  return at_edge(
      squares, true, [&](const Choice& choice) { return choice.squared_error <= squared_error; });
}

}  // namespace matapprox
