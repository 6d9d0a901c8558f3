#include "factors/wavelet_coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include "factors/arithmetic_coding.hpp"
#include "factors/coded_streams.hpp"
#include "factors/wavelet_transform.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::wavelets {
namespace {

using coding::Chance;
using coding::Decoder;
using coding::Encoder;
using coding::half_octaves;
using coding::kHalf;

constexpr Index kMinSide = 8;
/// Coefficients of a stream: enough to learn their statistics, few enough for several threads.
constexpr Index kStreamSize = Index{1} << 18;
constexpr Index kTileSide = 512;

// ---- Statistics

/// Number of half octaves that the size of the neighbors is rounded to, with and without parent.
constexpr std::size_t kNearSizes = 40;
constexpr std::size_t kPairSizes = 22;
/// Bits after the leading one whose statistics are learned.
constexpr int kLearnedBits = 2;

struct Statistics {
  /// Decisions whether a coefficient has more than t bits, for the size of the neighbors and of the
  /// parent together, and for both apart.
  std::array<std::array<Chance, kMaxBits + 1>, kNearSizes> together;
  std::array<std::array<Chance, kMaxBits + 1>, kPairSizes * kPairSizes> apart;
  /// The bits after the leading one, for the number of bits and those before.
  std::array<std::array<Chance, 3>, kMaxBits + 1> mantissa;
};

/// Statistics of smooth coefficients, of details in one direction and of those in both.
using AllStatistics = std::array<Statistics, 3>;

/// Absolute values of a tile, with the zeros around it that its neighbors are.
class Sizes {
 public:
  Sizes(Index rows, Index cols)
      : stride_(rows + kAbove + kBelow),
        memory_(static_cast<std::size_t>(stride_ * (cols + kBefore))) {}
  std::uint32_t* at(Index i, Index j) {
    return memory_.data() + (j + kBefore) * stride_ + i + kAbove;
  }
  Index stride() const { return stride_; }

 private:
  static constexpr Index kAbove = 2;
  static constexpr Index kBelow = 1;
  static constexpr Index kBefore = 2;
  Index stride_;
  std::vector<std::uint32_t> memory_;
};

/// Classes of a coefficient by its neighbors and its parent; each has its own statistics.
struct Surroundings {
  std::size_t together = 0;
  std::size_t apart = 0;
};

Surroundings surroundings(const std::uint32_t* here,
                          Index stride,
                          std::uint64_t parent,
                          const Band& band) {
  const std::uint64_t above = here[-1];
  const std::uint64_t left = here[-stride];
  const std::uint64_t corners = std::uint64_t{here[-stride - 1]} + here[-stride + 1];
  const std::uint64_t far = std::uint64_t{here[-2]} + here[-2 * stride];
  // Details within columns continue along rows, and the other way round.
  const std::uint64_t of_left = band.detail_rows == band.detail_cols ? 4 : band.detail_rows ? 5 : 3;
  const std::uint64_t near = of_left * left + (8 - of_left) * above + 2 * corners + far;
  return {half_octaves(near + 2 * parent, kNearSizes),
          half_octaves(2 * (left + above) + corners, kPairSizes) * kPairSizes +
              half_octaves(2 * parent, kPairSizes)};
}

/// Codes one coefficient; returns it. The number of its bits comes first, then its bits after the
/// leading one, then its sign.
template <class Coder>
std::int32_t code_value(Coder& coder,
                        Statistics& statistics,
                        const Surroundings& known,
                        std::int32_t value) {
  auto& together = statistics.together[known.together];
  auto& apart = statistics.apart[known.apart];
  const auto size = static_cast<std::uint32_t>(std::abs(value));
  const auto wanted = static_cast<std::size_t>(std::bit_width(size));
  std::size_t bits = 0;
  for (;; ++bits) {
    if (Coder::kDecodes && bits > kMaxBits) {
      throw InvalidArgument("wavelet coefficients: the coded data are damaged");
    }
    Chance& one = together[std::min<std::size_t>(bits, kMaxBits)];
    Chance& other = apart[std::min<std::size_t>(bits, kMaxBits)];
    const bool more = coder.code((one.probability() + other.probability()) / 2, bits < wanted);
    one.learn(more);
    other.learn(more);
    if (!more) break;
  }
  if (bits == 0) return 0;
  std::uint32_t found = 1;
  for (int bit = static_cast<int>(bits) - 2; bit >= 0; --bit) {
    const int depth = static_cast<int>(bits) - 2 - bit;
    const bool wanted_bit = (size >> bit & 1) != 0;
    if (depth < kLearnedBits) {
      Chance& chance = statistics.mantissa[bits][depth == 0 ? 0 : 1 + (found & 1)];
      const bool one = coder.code(chance.probability(), wanted_bit);
      chance.learn(one);
      found = 2 * found + (one ? 1 : 0);
    } else {
      found = 2 * found + (coder.code(kHalf, wanted_bit) ? 1 : 0);
    }
  }
  const bool negative = coder.code(kHalf, value < 0);
  return negative ? -static_cast<std::int32_t>(found) : static_cast<std::int32_t>(found);
}

/// Codes the coefficients of a tile, column by column. A decoder writes them to `values`.
template <class Coder, class Values>
void code_tile(Coder& coder, AllStatistics& all, const Tile& tile, Values& values) {
  const Band& band = tile.band;
  Statistics& statistics = all[band.detail_rows && band.detail_cols   ? 2
                               : band.detail_rows || band.detail_cols ? 1
                                                                      : 0];
  Sizes sizes(tile.rows, tile.cols);
  const bool on_diagonal = band.halved && tile.row == tile.col;
  for (Index j = 0; j < tile.cols; ++j) {
    for (Index i = on_diagonal ? j : 0; i < tile.rows; ++i) {
      const Index row = tile.row + i;
      const Index col = tile.col + j;
      std::uint64_t parent = 0;
      if (band.parent_rows > 0) {
        parent = static_cast<std::uint64_t>(
            std::abs(values(band.parent_row + std::min(row / 2, band.parent_rows - 1),
                            band.parent_col + std::min(col / 2, band.parent_cols - 1))));
      }
      std::uint32_t* here = sizes.at(i, j);
      auto& value = values(band.row + row, band.col + col);
      const std::int32_t coded =
          code_value(coder, statistics, surroundings(here, sizes.stride(), parent, band), value);
      if constexpr (Coder::kDecodes) value = coded;
      *here = static_cast<std::uint32_t>(std::abs(coded));
      if (on_diagonal) *sizes.at(j, i) = *here;
    }
  }
}

template <class Coder, class Values>
void code_stream(Coder& coder, const std::vector<Tile>& tiles, Values& values) {
  const auto statistics = std::make_unique<AllStatistics>();
  for (const Tile& tile : tiles) code_tile(coder, *statistics, tile, values);
}

/// Divides a band into tiles; those above the diagonal of a halved one are left out.
void add_tiles(const Band& band, std::vector<Tile>& tiles) {
  if (band.rows == 0 || band.cols == 0) return;
  Index height = std::min(band.rows, kTileSide);
  const Index width = std::min(band.cols, std::max(kTileSide, kStreamSize / height));
  if (band.cols < kTileSide) height = std::min(band.rows, kStreamSize / band.cols);
  for (Index col = 0; col < band.cols; col += width) {
    for (Index row = band.halved ? col : 0; row < band.rows; row += height) {
      tiles.push_back(
          {band, row, std::min(height, band.rows - row), col, std::min(width, band.cols - col)});
    }
  }
}

/// Copies the entries below the diagonal of the coefficients above it.
void mirror(Integers& values) {
  for (Index j = 0; j < values.cols(); ++j) {
    for (Index i = 0; i < j; ++i) values(i, j) = values(j, i);
  }
}

/// Number of the class of coefficients of about this size: the exponent of a double and the five
/// highest bits of its fraction.
constexpr int kFractionBits = 5;
constexpr std::uint64_t kClassesPerOctave = 1U << kFractionBits;
std::uint64_t class_key(double value) {
  return std::bit_cast<std::uint64_t>(std::abs(value)) >>
         (std::numeric_limits<double>::digits - 1 - kFractionBits);
}

}  // namespace

SizeHistogram::SizeHistogram(double largest) : largest_(largest) {
  // Coefficients that are smaller take less than 2^-8 bits each at every step that is used.
  const std::uint64_t highest = class_key(largest);
  lowest_ = highest - std::min<std::uint64_t>(highest, kClassesPerOctave * (kMaxBits + 4));
  classes_.resize(highest - lowest_ + 1);
}

SizeHistogram::SizeHistogram(const Eigen::Ref<const Vector>& coefficients)
    : SizeHistogram(coefficients.cwiseAbs().maxCoeff()) {
  add(coefficients);
}

void SizeHistogram::add(const Eigen::Ref<const Vector>& coefficients, double weight) {
  for (const double value : coefficients) {
    Class& same = classes_[std::max(class_key(value), lowest_) - lowest_];
    same.count += weight;
    same.squares += weight * value * value;
  }
}

Rate SizeHistogram::rate(double step) const {
  constexpr double kAtOne = 9;
  Rate rate;
  for (const Class& same : classes_) {
    if (same.count == 0) continue;
    const double squared_ratio = same.squares / (same.count * step * step);
    const bool is_zero = squared_ratio < (1 - kRoundedUp) * (1 - kRoundedUp);
    rate.bits += same.count * (is_zero ? squared_ratio / ((1 - kRoundedUp) * (1 - kRoundedUp))
                                       : std::log2(kAtOne) + 0.5 * std::log2(squared_ratio));
    rate.nonzeros += is_zero ? 0 : same.count;
    rate.squared_error += same.count * (is_zero ? squared_ratio : 1.0 / 12);
  }
  rate.squared_error *= step * step;
  return rate;
}

double SizeHistogram::step_for_bits(double bits) const {
  return wavelets::step_for_bits(largest_, bits, [this](double step) { return rate(step).bits; });
}

double step_for_bits(double largest,
                     double bits,
                     const std::function<double(double)>& bits_at_step) {
  double low = std::log2(largest) - kMaxBits;
  double high = std::log2(largest) + 1;
  for (int round = 0; round < 20; ++round) {
    const double middle = 0.5 * (low + high);
    (bits_at_step(std::exp2(middle)) > bits ? low : high) = middle;
  }
  return std::exp2(high);
}

Index max_levels(Index rows, Index cols) {
  Index levels = 0;
  for (Index side = std::min(rows, cols); smooth_count(side) >= kMinSide; ++levels)
    side = smooth_count(side);
  return levels;
}

Layout::Layout(Index m, Index n, Index level_count, bool is_symmetric)
    : rows(m), cols(n), levels(level_count), symmetric(is_symmetric) {
  constexpr Index kMaxSide = std::numeric_limits<std::int32_t>::max();
  require(m >= 1 && n >= 1 && m <= kMaxSide && n <= kMaxSide && levels >= 0 &&
              levels <= max_levels(m, n) && (!symmetric || m == n),
          "wavelet coefficients: {} levels of a {}{} x {} matrix",
          levels,
          symmetric ? "symmetric " : "",
          m,
          n);
  heights = {m};
  widths = {n};
  for (Index level = 0; level < levels; ++level) {
    heights.push_back(smooth_count(heights.back()));
    widths.push_back(smooth_count(widths.back()));
  }
  std::vector<Tile> coarse;
  Band smooth{0, heights.back(), 0, widths.back()};
  smooth.halved = symmetric;
  add_tiles(smooth, coarse);
  const auto end_step = [&](std::vector<Tile> tiles, bool together) {
    if (together) {
      streams.push_back(std::move(tiles));
    } else {
      for (const Tile& tile : tiles) streams.push_back({tile});
    }
    step_ends.push_back(streams.size());
  };
  bool together = heights.back() * widths.back() <= kStreamSize;
  if (!together) end_step(std::exchange(coarse, {}), false);
  for (Index level = levels - 1; level >= 0; --level) {
    const auto l = static_cast<std::size_t>(level);
    const Index h = heights[l + 1];
    const Index w = widths[l + 1];
    if (together && heights[l] * widths[l] > kStreamSize) {
      end_step(std::exchange(coarse, {}), true);
      together = false;
    }
    const auto details = [&](bool of_rows, bool of_cols) {
      Band band{of_rows ? h : 0,
                of_rows ? heights[l] - h : h,
                of_cols ? w : 0,
                of_cols ? widths[l] - w : w,
                of_rows,
                of_cols};
      band.halved = symmetric && of_rows && of_cols;
      if (level + 1 < levels) {
        const Index next_h = heights[l + 2];
        const Index next_w = widths[l + 2];
        band.parent_row = of_rows ? next_h : 0;
        band.parent_rows = of_rows ? h - next_h : next_h;
        band.parent_col = of_cols ? next_w : 0;
        band.parent_cols = of_cols ? w - next_w : next_w;
      }
      add_tiles(band, coarse);
    };
    details(true, false);
    if (!symmetric) details(false, true);
    details(true, true);
    if (!together) end_step(std::exchange(coarse, {}), false);
  }
  if (together) end_step(std::move(coarse), true);
}

std::vector<std::uint8_t> encode_stream(const Layout& layout,
                                        std::size_t stream,
                                        const Integers& values) {
  Encoder encoder;
  code_stream(encoder, layout.streams[stream], values);
  return encoder.finish();
}

void check_lengths(const Layout& layout,
                   std::span<const Index> lengths,
                   std::span<const std::uint8_t> data) {
  coded_streams(data, lengths, layout.streams.size(), "wavelet coefficients");
}

Integers decode(const Layout& layout,
                std::span<const Index> lengths,
                std::span<const std::uint8_t> data) {
  const auto streams = coded_streams(data, lengths, layout.streams.size(), "wavelet coefficients");
  // The caller divides them into bands, which take up to 8 bytes more for each.
  require_memory(12.0 * static_cast<double>(layout.rows) * static_cast<double>(layout.cols),
                 "wavelet coefficients");
  Integers values = Integers::Zero(layout.rows, layout.cols);
  std::size_t first = 0;
  for (const std::size_t end : layout.step_ends) {
    parallel_for(static_cast<Index>(end - first), [&](Index k) {
      const std::size_t stream = first + static_cast<std::size_t>(k);
      Decoder decoder(streams[stream]);
      code_stream(decoder, layout.streams[stream], values);
    });
    first = end;
  }
  if (layout.symmetric) mirror(values);
  return values;
}

}  // namespace matapprox::wavelets
