#include "matapprox/factors/chord_factors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "core/log2.hpp"
#include "core/require.hpp"

namespace matapprox {
namespace {

/// `factors` equal lists 0, 2^0 .. 2^(powers - 1).
ChordPattern powers_of_two(Index n, Index factors, Index powers) {
  require(n >= 1, "chord pattern: order {} is below 1", n);
  std::vector<Index> offsets{0};
  for (Index k = 0; k < powers; ++k) offsets.push_back(Index{1} << k);
  return {n,
          std::vector<std::vector<Index>>(static_cast<std::size_t>(std::max<Index>(factors, 1)),
                                          offsets)};
}

/// "1, 2, 3, ... (17 in all)"
std::string first_few(const std::vector<Index>& numbers) {
  constexpr std::size_t kShown = 3;
  const std::size_t shown = std::min(numbers.size(), kShown);
  const auto text = fmt::format("{}", fmt::join(numbers.begin(), numbers.begin() + shown, ", "));
  return shown == numbers.size() ? text : fmt::format("{}, ... ({} in all)", text, numbers.size());
}

}  // namespace

Index ChordPattern::stored_numbers() const { return first_value(factors()); }

Index ChordPattern::first_value(Index m) const {
  Index links_before = 0;
  for (Index q = 0; q < m; ++q) links_before += links(q);
  return order * links_before;
}

void ChordPattern::validate() const {
  require(order >= 1, "chord pattern: order {} is below 1", order);
  require(factors() >= 1, "chord pattern: it needs at least one factor");
  for (Index m = 0; m < factors(); ++m) {
    auto sorted = offsets[static_cast<std::size_t>(m)];
    require(!sorted.empty(), "chord pattern: factor {} has no link", m + 1);
    std::sort(sorted.begin(), sorted.end());
    require(sorted.front() >= 0 && sorted.back() < order,
            "chord pattern: factor {} has an offset outside 0..{}",
            m + 1,
            order - 1);
    const auto repeated = std::adjacent_find(sorted.begin(), sorted.end());
    require(repeated == sorted.end(),
            "chord pattern: factor {} has offset {} twice",
            m + 1,
            repeated == sorted.end() ? 0 : *repeated);
  }
}

ChordPattern chord_reference_pattern(Index n) {
  return powers_of_two(n, ceil_log2(n), n <= 1 ? 0 : floor_log2(n));
}

ChordPattern chord_paper_pattern(Index n) {
  return powers_of_two(n, ceil_log2(n), std::max<Index>(0, ceil_log2(n) - 1));
}

ChordPattern chord_torch_pattern(Index n) {
  const Index powers = n <= 1 ? 0 : floor_log2(n);
  return powers_of_two(n, powers, powers);
}

std::vector<Index> unreachable_distances(const ChordPattern& pattern) {
  const Index n = pattern.order;
  std::vector<char> reached(static_cast<std::size_t>(n), 0);
  reached[0] = 1;
  for (const auto& offsets : pattern.offsets) {
    std::vector<char> next(static_cast<std::size_t>(n), 0);
    for (Index d = 0; d < n; ++d) {
      if (reached[static_cast<std::size_t>(d)] == 0) continue;
      for (const Index o : offsets) next[static_cast<std::size_t>((d + o) % n)] = 1;
    }
    reached.swap(next);
  }
  std::vector<Index> missed;
  for (Index d = 0; d < n; ++d) {
    if (reached[static_cast<std::size_t>(d)] == 0) missed.push_back(d);
  }
  return missed;
}

std::string unreachable_text(const ChordPattern& pattern) {
  const std::vector<Index> missed = unreachable_distances(pattern);
  if (missed.empty()) return "";
  return fmt::format("the pattern cannot reach the distances (column - row) mod {}: {}",
                     pattern.order,
                     first_few(missed));
}

}  // namespace matapprox
