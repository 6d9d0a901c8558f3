#include "factors/component_bits.hpp"

#include <algorithm>
#include <cmath>

#include "factors/quantizer.hpp"

namespace matapprox {
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
  Choice best = at_price(squares, std::exp(dearest ? low : high));
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
  return at_edge(squares, false, [&](const Choice& choice) { return choice.bytes <= bytes; });
}

ComponentBits::Choice ComponentBits::within_error(const Vector& squares,
                                                  double squared_error) const {
  if (squares.size() == 0 || !(squares(0) > 0)) return at_price(squares, 1);
  return at_edge(
      squares, true, [&](const Choice& choice) { return choice.squared_error <= squared_error; });
}

}  // namespace matapprox
