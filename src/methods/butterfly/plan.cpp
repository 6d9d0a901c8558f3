#include "methods/butterfly/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "factors/quantizer.hpp"
#include "matapprox/factors/factor_product.hpp"

namespace matapprox::butterflies {
namespace {

/// Ranks that are compared, and the divisors by which the first stage splits the columns at most.
constexpr std::array<Index, 14> kRanks{1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 32};
constexpr Index kMaxFirstSplits = 4;
/// Rows of a group beyond which there is no further stage: its singular vectors take s^3
/// operations, and a large prime divisor is no structure.
constexpr Index kMaxGroup = 128;
/// Orders of the prime divisors that are compared.
constexpr std::size_t kMaxRadixOrders = 6;
/// Widths of the values.
const std::vector<int> kValueWidths{3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 32, 64};
/// Steps of the search for a price of a byte, between 1 and kLowestPrice.
constexpr int kPriceSteps = 50;
constexpr double kLowestPrice = 1e-45;

/// Prime divisors, ascending.
std::vector<Index> prime_divisors(Index n) {
  std::vector<Index> primes;
  for (Index p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) primes.push_back(p);
  }
  if (n > 1) primes.push_back(n);
  return primes;
}

std::vector<Arrangement> arrangements(const LinearOperator& A, const ButterflyOptions& options) {
  const auto orders = [](ButterflyOrder order, const std::vector<Index>& radices) {
    // One digit has no other order.
    if (radices.size() < 2) return std::vector<bool>{false};
    if (order == ButterflyOrder::kAuto) return std::vector<bool>{false, true};
    return std::vector<bool>{order == ButterflyOrder::kReversed};
  };
  std::vector<Arrangement> list;
  std::vector<Index> rows = prime_divisors(A.rows());
  const std::vector<Index> cols = prime_divisors(A.cols());
  for (std::size_t k = 0; k < kMaxRadixOrders; ++k) {
    for (const bool rows_reversed : orders(options.row_order, rows)) {
      for (const bool cols_reversed : orders(options.col_order, cols))
        list.push_back({rows, A.rows() == A.cols() ? rows : cols, rows_reversed, cols_reversed});
    }
    if (!std::next_permutation(rows.begin(), rows.end())) break;
  }
  return list;
}

/// Adds stages while they save numbers. The first stage splits the columns by the product of
/// `first_splits` divisors, each later one by one divisor. A larger first split makes the blocks of
/// all stages smaller, so that they have a lower rank, but stores more numbers.
Plan plan_of(
    Index rows, Index cols, const Arrangement& arrangement, Index rank, Index first_splits) {
  Plan plan{rank, arrangement, {}, {}};
  auto next = arrangement.row_radices.begin();
  const auto end = arrangement.row_radices.end();
  Stage stage;
  while (next != end && 3 * stage.in_group < 4 * rank) stage.in_group *= *next++;
  stage.groups = rows / stage.in_group;
  stage.cols = cols;
  const auto& radices = arrangement.col_radices;
  auto split = radices.begin();
  const Index largest_group = std::max(4 * rank, kMaxGroup);
  while (split != radices.end() && stage.in_group <= largest_group) {
    stage.splits = *split++;
    for (; plan.stages.empty() && first_splits > 1 && split != radices.end(); --first_splits)
      stage.splits *= *split++;
    const Index width = stage.cols / stage.splits;
    stage.rank = std::min({rank, stage.in_group, width});
    Stage after{stage.parts * stage.splits, stage.rank, stage.groups, 1, 1, width};
    if (stage.numbers() + after.rest() >= stage.rest()) break;
    if (next != end) {
      after.in_group *= *next;
      after.groups /= *next++;
    }
    plan.stages.push_back(stage);
    stage = after;
  }
  plan.rest = stage;
  return plan;
}

double order_bytes(const Arrangement& a) {
  const auto bytes = [](bool reversed, const std::vector<Index>& radices) {
    const Index n = std::accumulate(radices.begin(), radices.end(), Index{1}, std::multiplies<>());
    return reversed ? static_cast<double>(permutation_bytes(n)) : 0.0;
  };
  return bytes(a.rows_reversed, a.row_radices) + bytes(a.cols_reversed, a.col_radices);
}

/// Every column gets the bits that pay at that price of a byte.
Widths widths_at(const Plan& plan, const Energies& energies, double price) {
  Widths widths;
  widths.bytes = order_bytes(plan.arrangement);
  const std::vector<KroneckerSparse::Pattern> patterns = plan.patterns();
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    const Index rows = patterns[k].blocks * patterns[k].rows * patterns[k].order;
    const bool is_last = k + 1 == patterns.size();
    const Index scales = is_last ? (rows + kValuesPerScale - 1) / kValuesPerScale : 1;
    const ComponentBits components(rows, 0, 0, kValueWidths);
    ComponentBits::Choice choice = components.at_price(energies[k], price);
    // A column without bits has scales too.
    widths.bytes += choice.bytes + static_cast<double>(patterns[k].cols * (4 * scales + 1));
    widths.squared_error += choice.squared_error;
    widths.bits.push_back(std::move(choice.bits));
  }
  return widths;
}

/// The widths at the price at one end of those that `fits` allows: the dearest, with the fewest
/// bytes, or the cheapest, with the least error.
template <class Fits>
Widths widths_where(const Plan& plan, const Energies& energies, bool dearest, const Fits& fits) {
  double low = std::log(kLowestPrice);
  double high = 0;
  Widths found = widths_at(plan, energies, std::exp(dearest ? low : high));
  for (int step = 0; step < kPriceSteps; ++step) {
    const double middle = 0.5 * (low + high);
    Widths widths = widths_at(plan, energies, std::exp(middle));
    const bool fit = fits(widths);
    (fit == dearest ? low : high) = middle;
    if (fit) found = std::move(widths);
  }
  return found;
}

}  // namespace

Index place_of(Index i, bool reversed, const std::vector<Index>& radices) {
  if (!reversed) return i;
  Index place = 0;
  for (const Index radix : radices) {
    place = place * radix + i % radix;
    i /= radix;
  }
  return place;
}

std::vector<Index> places_of(Index n, bool reversed, const std::vector<Index>& radices) {
  std::vector<Index> places(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i)
    places[static_cast<std::size_t>(place_of(i, reversed, radices))] = i;
  return places;
}

Plan whole_of(const LinearOperator& A) {
  Plan plan;
  plan.rest = {1, A.rows(), 1, 1, 1, A.cols()};
  return plan;
}

std::vector<Plan> plans_of(const LinearOperator& A, const ButterflyOptions& options, Index rank) {
  std::vector<Plan> plans;
  const std::vector<Arrangement> all = arrangements(A, options);
  const auto most = static_cast<Index>(all.front().col_radices.size());
  for (Index first_splits = 1; first_splits <= std::min(kMaxFirstSplits, most); ++first_splits) {
    for (const Arrangement& arrangement : all) {
      Plan plan = plan_of(A.rows(), A.cols(), arrangement, rank, first_splits);
      if (!plan.stages.empty()) plans.push_back(std::move(plan));
    }
  }
  return plans;
}

std::vector<Index> ranks_of(const LinearOperator& A, Index given) {
  if (given > 0) return {given};
  std::vector<Index> ranks;
  for (const Index rank : kRanks) {
    if (rank == 1 || 4 * rank <= std::min(A.rows(), A.cols())) ranks.push_back(rank);
  }
  return ranks;
}

Widths widths_within_error(const Plan& plan, const Energies& energies, double squared_error) {
  return widths_where(plan, energies, true, [&](const Widths& widths) {
    return widths.squared_error <= squared_error;
  });
}

Widths widths_within_bytes(const Plan& plan, const Energies& energies, double bytes) {
  Widths widths =
      widths_where(plan, energies, false, [&](const Widths& each) { return each.bytes <= bytes; });
  const double exact = kExactError * kExactError;
  return widths.squared_error < exact ? widths_within_error(plan, energies, exact) : widths;
}

}  // namespace matapprox::butterflies
