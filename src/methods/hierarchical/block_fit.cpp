#include "methods/hierarchical/block_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

namespace matapprox::blocks {
namespace {

/// The search for a price ends when the logarithm of the bytes or of the squared error is this
/// close to its target, or when the logarithms of the bracketing prices differ by at most
/// kNearPrices.
constexpr double kNearBudget = 1e-3;
constexpr double kNearError = 0.01;
/// The same for the first, rough search.
constexpr double kNearIdea = 1;
constexpr double kNearPrices = 1e-6;
/// Power of the price with which bytes are assumed to fall at first. A step is kBeyond times the
/// one that the slope predicts, limited to kMinStep .. kMaxStep, in the logarithm of the price.
constexpr double kFirstSlope = 0.5;
/// The first price is the energy over this many times the budget. The rough search, with small
/// nodes alone, starts at a lower one, which is nearer to the final price of smooth matrices.
constexpr double kFirstBytes = 256;
constexpr double kFirstBytesOfIdea = 65536;
constexpr double kBeyond = 1.25;
constexpr double kMinStep = 0.05;
constexpr double kMaxStep = 5;
/// Bound to which an excess is clamped.
constexpr double kMaxExcess = 50;
/// Price, relative to the energy of the matrix, at which everything that pays is stored.
constexpr double kMinPrice = 1e-45;
/// Squared errors below this fraction of the energy are rounding errors.
constexpr double kNoEnergy = 1e-32;
/// Fraction of the tolerance that is the first target: the noise is tabulated, not measured.
constexpr double kAim = 0.95;
constexpr int kMaxCorrections = 3;
/// A squared error of at least this fraction of the allowed one is near enough to the tolerance. If
/// it is smaller, the target is raised, by at most kMaxRaise at a time, in at most kMaxRaises
/// rounds.
constexpr double kNearTolerance = 0.9;
constexpr double kMaxRaise = 8;
constexpr int kMaxRaises = 5;
constexpr int kMaxAims = 12;
/// A fit within the tolerance is accepted if it takes at most this many times the bytes of one that
/// misses the tolerance: another round could gain no more than that.
constexpr double kAcceptedBytes = 1.15;
/// A fit whose squared error is at least kNearEnough of the allowed one is not expected to come
/// below the useful bytes if it takes kHopelessBytes times as many: the rest of the error is worth
/// at most log2(1 / sqrt(kNearEnough)) = 1.7 bits per value, a third of the 5 bits that the values
/// of such fits have. Chosen on scale_free, permutation, mesh2d and gaussian_kernel of matrices/.
constexpr double kNearEnough = 0.1;
constexpr double kHopelessBytes = 1.5;
/// Number of rounds that repeat the choice with the noise found in the one before.
constexpr int kLearningRounds = 2;
/// A round whose squared error is above this fraction of the best one before is the last.
constexpr double kWorthARound = 0.98;
/// Bytes of a value of A.
constexpr double kDoubleBytes = 8;

/// Logarithm of a choice's bytes or accuracy over its target; it falls as the price rises.
struct Excess {
  std::function<double(const Total&)> of;
  bool above = false;  ///< the final choice has an excess of 0 or more; else of 0 or less
  double near = 0;     ///< largest |excess| of the final choice
};

/// Logarithm of a tried price, and the excess there.
struct TriedPrice {
  double log = 0;
  double excess = 0;
};

/// Fraction of the interval from `low` to `high` at which the line through both reaches `wanted`,
/// kept away from the ends.
double part_of_way(const TriedPrice& low, const TriedPrice& high, double wanted) {
  const double part = (low.excess - wanted) / (low.excess - high.excess);
  return std::clamp(part, 0.1, 0.9);
}

/// Finds the price of a byte at which the excess changes sign. The search starts at the final price
/// of an earlier search, or at energy / bytes, extrapolates until the sign changes, and continues
/// between the last two prices by false position and bisection. (Far below that price, blocks would
/// be searched for triplets that are never stored.) At the end the choices are those of the last
/// price whose excess has the required sign, or of the last price if none has; the total of these
/// choices is returned.
Total search_price(RateDistortion& choices,
                   double energy,
                   double bytes,
                   const Excess& excess,
                   const std::function<Total(double)>& at_price) {
  Total total;
  // The unit of energy is a power of 2: a matrix times a power of 2 is divided in the same way.
  int exponent = 0;
  std::frexp(energy, &exponent);
  const double unit = std::ldexp(1.0, exponent);
  energy /= unit;
  const auto try_price = [&](double log) {
    total = at_price(unit * std::exp(log));
    return TriedPrice{log, std::clamp(excess.of(total), -kMaxExcess, kMaxExcess)};
  };
  const double wanted = (excess.above ? 0.5 : -0.5) * excess.near;
  const auto is_near = [&](const TriedPrice& tried) {
    return std::abs(tried.excess - wanted) <= 0.5 * excess.near;
  };
  // At the highest price one byte costs as much as dropping the whole matrix.
  const double highest = std::log(energy);
  TriedPrice last =
      try_price(std::log(choices.price() > 0 ? choices.price() / unit : energy / bytes));
  TriedPrice before = last;
  double slope = kFirstSlope;
  while (!is_near(last) && (last.excess > 0) == (before.excess > 0)) {
    const bool up = last.excess > 0;
    if (up && last.log >= highest) return total;
    // Everything is already stored as accurately as possible.
    const bool all = last.log < highest + std::log(kMinPrice) ||
                     total.squared_error <= kNoEnergy * energy * unit;
    if (!up && all) return total;
    const double change = std::abs(last.excess - before.excess);
    if (change > 0) slope = change / std::abs(last.log - before.log);
    const double step =
        std::clamp(kBeyond * std::abs(last.excess - wanted) / slope, kMinStep, kMaxStep);
    before = last;
    last = try_price(up ? std::min(last.log + step, highest) : last.log - step);
  }
  if (is_near(last)) return total;
  TriedPrice low = last.excess > 0 ? last : before;
  TriedPrice high = last.excess > 0 ? before : last;
  for (int step = 0; high.log - low.log > kNearPrices; ++step) {
    const double part = step % 3 == 2 ? 0.5 : part_of_way(low, high, wanted);
    last = try_price(low.log + part * (high.log - low.log));
    if (is_near(last)) return total;
    (last.excess > 0 ? low : high) = last;
  }
  const TriedPrice& end = excess.above ? low : high;
  if (end.log != last.log) try_price(end.log);
  return total;
}

Index bytes_of(const BlockFit& fit) { return fit.encoded.blocks.storage().bytes; }

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
  double fewest = std::numeric_limits<double>::infinity();
  std::optional<BlockFit> best;
  const auto at_price = [&](double price) { return choices.at_price(price, control); };
  Excess of_bytes{[&](const Total& tried) {
                    if (tried.bytes > 0) fewest = std::min(fewest, tried.bytes);
                    return std::log(tried.bytes / aim);
                  },
                  false,
                  kNearIdea};
  if (tree.source().exhaustive()) {
    // Far from the final price, large blocks take long and reveal little.
    search_price(choices, tree.energy(), kFirstBytesOfIdea * bytes, of_bytes, [&](double price) {
      return choices.small_nodes_at_price(price, control);
    });
    fewest = std::numeric_limits<double>::infinity();
  }
  of_bytes.near = kNearBudget;
  for (int round = 0;; ++round) {
    search_price(choices, tree.energy(), kFirstBytes * bytes, of_bytes, at_price);
    if (round == 0 && tree.source().exhaustive()) bound = choices.lower_bound(bytes);
    BlockFit result{encode(tree, choices, unit, control), bound, {}};
    const auto found = static_cast<double>(result.encoded.blocks.storage().bytes);
    const bool learned = choices.learn(result.encoded.squared_errors);
    const bool fits = found <= bytes;
    if (!fits) aim *= (round >= kMaxCorrections ? 0.5 : 0.999) * bytes / found;
    const bool gained =
        !best || result.encoded.squared_error < kWorthARound * best->encoded.squared_error;
    if (fits && (!best || result.encoded.squared_error < best->encoded.squared_error)) {
      best = std::move(result);
    }
    if (best && ((fits && !(learned && gained)) || round >= kLearningRounds)) {
      best->fewest_bytes = std::isfinite(fewest) ? fewest : 0;
      return std::move(*best);
    }
  }
}

BlockFit fit_within_tolerance(BlockTree& tree,
                              RateDistortion& choices,
                              double tolerance,
                              double unit,
                              const RunControl& control) {
  // The estimated energy of a source that is not exhaustive improves with each search.
  const auto wanted = [&] { return tolerance * tolerance * tree.energy(); };
  const double entries =
      static_cast<double>(tree.source().rows()) * static_cast<double>(tree.source().cols());
  double share = kAim * kAim;
  const auto at_price = [&](double price) { return choices.at_price(price, control); };
  std::optional<BlockFit> best;
  double reaching = 0;      // the last share that reached the tolerance
  Index beyond = 0;         // bytes of the last fit that missed it; 0: none yet
  double chosen_bytes = 0;  // estimate for the last choice that was encoded
  bool is_within = false;   // true if that choice reached the tolerance
  const auto is_small_enough = [&] {
    return static_cast<double>(bytes_of(*best)) <= kAcceptedBytes * static_cast<double>(beyond);
  };
  for (int round = 0;; ++round) {
    const Excess of_accuracy{
        [&](const Total& tried) { return std::log(share * wanted() / tried.squared_error); },
        true,
        kNearError};
    const Total total =
        search_price(choices, tree.energy(), kDoubleBytes * entries, of_accuracy, at_price);
    if (best && total.bytes == chosen_bytes && round < kMaxRaises) {  // no new choice
      if (is_within) reaching = share;
      share = is_within ? kMaxRaise * share : std::sqrt(reaching * share);
      continue;
    }
    chosen_bytes = total.bytes;
    BlockFit result{encode(tree, choices, unit, control), 0, {}};
    const double part = result.encoded.squared_error / wanted();
    const Index bytes = bytes_of(result);
    choices.learn(result.encoded.squared_errors);
    const bool can_do_no_more = round == kMaxAims || total.squared_error > share * wanted();
    is_within = part <= 1;
    if (is_within) {
      if (!best || bytes < bytes_of(*best)) best = std::move(result);
      const bool is_hopeless = part >= kNearEnough && static_cast<double>(bytes_of(*best)) >
                                                          kHopelessBytes * control.useful_bytes;
      if (part >= kNearTolerance || is_hopeless || is_small_enough()) return std::move(*best);
      reaching = share;
      share *= std::min(kAim * kAim / part, kMaxRaise);
    } else if (!best && can_do_no_more) {
      result.message = "the tolerance is not reached";
      return result;
    } else {
      beyond = bytes;
      if (best && is_small_enough()) return std::move(*best);
      share = std::max(share * std::min(0.95 / part, 0.8), std::sqrt(reaching * share));
    }
    if (best && round >= kMaxRaises) return std::move(*best);
  }
}

void forget_bounds(Summary& summary) {
  summary.lower_bound = {};
  summary.low_rank_bound = {};
  if (const auto bound = summary.message.find("; no choice"); bound != std::string::npos) {
    const auto end = summary.message.find("; ", bound + 2);
    summary.message.erase(bound, end == std::string::npos ? end : end - bound);
  }
}

BlockMatrix::Content copied_content(const BlockMatrix& blocks) {
  BlockMatrix::Content content = blocks.content();
  content.data.assign(blocks.data().begin(), blocks.data().end());
  return content;
}

}  // namespace matapprox::blocks
