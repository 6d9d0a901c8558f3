#include "methods/hierarchical/block_fit.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace matapprox::blocks {
namespace {

/// Prices are bisected until the bytes are within this share of the budget, or the prices of each
/// other.
constexpr double kBudgetShare = 1e-3;
constexpr double kPriceRatio = 1 + 1e-6;
constexpr double kPriceStep = 8;
/// Of the energy of the matrix: the price at which everything that pays is stored.
constexpr double kMinPrice = 1e-45;
/// Squared errors below this part of the energy are rounding.
constexpr double kNoEnergy = 1e-32;
/// Part of a tolerance that is aimed at first: the noise is tabulated, not measured.
constexpr double kAim = 0.95;
constexpr int kMaxCorrections = 3;
constexpr int kMaxAims = 12;
/// How often a choice is made again with the noise that was found.
constexpr int kLearningRounds = 2;
/// Bytes of a value of A.
constexpr double kDoubleBytes = 8;

/// Finds the price of a byte at which `cheap`, which is true at low prices, changes: in steps from
/// the price that an earlier search ended with, or from energy / bytes, and then by bisection. (Far
/// above it blocks would be searched for triplets that nobody stores.) The choices stand at the
/// highest price seen at which it is true, or the lowest at which it is not, and the total there is
/// returned. `near_enough` ends the search before prices agree.
template <class Cheap, class NearEnough>
Total search_price(RateDistortion& choices,
                   double energy,
                   double bytes,
                   bool take_cheap_side,
                   const RunControl& control,
                   const Cheap& cheap,
                   const NearEnough& near_enough) {
  double at = choices.price() > 0 ? choices.price() : energy / bytes;
  Total total = choices.at_price(at, control);
  double low = at;
  double high = at;
  if (cheap(total)) {
    // At most to where a byte costs as much as the whole matrix.
    while (high < energy && cheap(total)) {
      low = at;
      at = high = std::min(kPriceStep * low, energy);
      total = choices.at_price(at, control);
    }
    if (cheap(total)) return total;
  } else {
    while (!cheap(total)) {
      // Everything is stored as well as it can be.
      if (at < energy * kMinPrice || total.squared_error <= kNoEnergy * energy) return total;
      high = at;
      at = low = high / kPriceStep;
      total = choices.at_price(at, control);
    }
  }
  while (high / low > kPriceRatio &&
         !(at == (take_cheap_side ? low : high) && near_enough(total))) {
    at = std::sqrt(high * low);
    total = choices.at_price(at, control);
    (cheap(total) ? low : high) = at;
  }
  const double wanted = take_cheap_side ? low : high;
  return at == wanted ? total : choices.at_price(wanted, control);
}

}  // namespace

BlockFit fit_nothing(BlockTree& tree, RateDistortion& choices, const RunControl& control) {
  choices.at_price(1, control);
  return {encode(tree, choices, 1, control), 0, {}};
}

BlockFit fit_within_bytes(BlockTree& tree,
                          RateDistortion& choices,
                          double bytes,
                          double unit,
                          const RunControl& control) {
  double aim = bytes;
  double bound = 0;
  std::optional<BlockFit> best;
  for (int round = 0;; ++round) {
    search_price(
        choices,
        tree.energy(),
        bytes,
        false,
        control,
        [&](const Total& tried) { return tried.bytes > aim; },
        [&](const Total& tried) { return tried.bytes > (1 - kBudgetShare) * aim; });
    if (round == 0 && tree.source().exhaustive()) bound = choices.lower_bound(bytes);
    BlockFit result{encode(tree, choices, unit, control), bound, {}};
    const auto found = static_cast<double>(result.encoded.blocks.storage().bytes);
    const bool learned = choices.learn(result.encoded.squared_errors);
    const bool fits = found <= bytes;
    if (!fits) aim *= (round >= kMaxCorrections ? 0.5 : 0.999) * bytes / found;
    if (fits && (!best || result.encoded.squared_error < best->encoded.squared_error)) {
      best = std::move(result);
    }
    if (best && ((fits && !learned) || round >= kLearningRounds)) return std::move(*best);
  }
}

BlockFit fit_within_tolerance(BlockTree& tree,
                              RateDistortion& choices,
                              double tolerance,
                              double unit,
                              const RunControl& control) {
  // The energy of a source that is not exhaustive gets better known by and by.
  const auto wanted = [&] { return tolerance * tolerance * tree.energy(); };
  const double entries =
      static_cast<double>(tree.source().rows()) * static_cast<double>(tree.source().cols());
  double share = kAim * kAim;
  for (int round = 0;; ++round) {
    const Total total = search_price(
        choices,
        tree.energy(),
        kDoubleBytes * entries,
        true,
        control,
        [&](const Total& tried) { return tried.squared_error <= share * wanted(); },
        [&](const Total& tried) { return tried.squared_error > 0.99 * share * wanted(); });
    BlockFit result{encode(tree, choices, unit, control), 0, {}};
    if (result.encoded.squared_error <= wanted()) return result;
    choices.learn(result.encoded.squared_errors);
    if (round == kMaxAims || total.squared_error > share * wanted()) {
      result.message = "the tolerance is not reached";
      return result;
    }
    share *= std::min(0.95 * wanted() / result.encoded.squared_error, 0.8);
  }
}

}  // namespace matapprox::blocks
