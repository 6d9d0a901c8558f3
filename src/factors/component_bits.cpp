#include "factors/component_bits.hpp"

#include <algorithm>
#include <cmath>

#include "factors/quantizer.hpp"

namespace matapprox {
namespace {

/// Prices are bisected until they agree to this.
constexpr double kSamePrice = 1 + 1e-9;
/// Below this part of the largest square everything is stored in doubles.
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
    // What lies above the line between its neighbors is never the best.
    while (!widths_.empty() && threshold_above(widths_.back()) <= widths_.back().threshold) {
      widths_.pop_back();
    }
    width.threshold = threshold_above(widths_.empty() ? Width{} : widths_.back());
    widths_.push_back(width);
  }
}

ComponentBits::Choice ComponentBits::at_price(const Vector& squares, double price) const {
  Choice choice;
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

ComponentBits::Choice ComponentBits::within_bytes(const Vector& squares, double bytes) const {
  if (squares.size() == 0 || !(squares(0) > 0)) return at_price(squares, 1);
  double high = squares(0) / widths_.front().threshold;  // at which nothing is stored
  double low = high * kLowestPrice;
  Choice best = at_price(squares, low);
  if (best.bytes <= bytes) return best;
  best = at_price(squares, high);
  while (high / low > kSamePrice) {
    const double price = std::sqrt(high * low);
    Choice choice = at_price(squares, price);
    if (choice.bytes > bytes) {
      low = price;
    } else {
      high = price;
      best = std::move(choice);
    }
  }
  return best;
}

ComponentBits::Choice ComponentBits::within_error(const Vector& squares,
                                                  double squared_error) const {
  if (squares.size() == 0 || !(squares(0) > 0)) return at_price(squares, 1);
  double high = squares(0) / widths_.front().threshold;
  double low = high * kLowestPrice;
  Choice best = at_price(squares, low);
  while (high / low > kSamePrice) {
    const double price = std::sqrt(high * low);
    Choice choice = at_price(squares, price);
    if (choice.squared_error > squared_error) {
      high = price;
    } else {
      low = price;
      best = std::move(choice);
    }
  }
  return best;
}

}  // namespace matapprox
