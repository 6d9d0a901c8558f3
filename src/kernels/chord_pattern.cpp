#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "core/log2.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/chord.hpp"

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

/// `width` multiples of `stride`, 0 first, then those above and those below; at most as many as are
/// distinct mod n.
std::vector<Index> strided(Index n, Index width, Index stride) {
  const Index distinct = (n + stride - 1) / stride;
  const Index count = std::min(width, distinct);
  std::vector<Index> offsets;
  const Index above = (count + 1) / 2;  // includes 0
  for (Index k = 0; k < above; ++k) offsets.push_back(k * stride);
  for (Index k = 1; k <= count - above; ++k) offsets.push_back(n - k * stride);
  return offsets;
}

/// Multiples of `stride` below n: one turn around the n distances.
std::vector<Index> around(Index n, Index stride) {
  std::vector<Index> offsets;
  for (Index at = 0; at < n; at += stride) offsets.push_back(at);
  return offsets;
}

Index quotient_up(Index a, Index b) { return (a + b - 1) / b; }

/// Pattern with a local, a strided and a local factor; nothing if it cannot reach every distance.
std::optional<ChordPattern> local_strided_local(Index n, Index links) {
  const Index k = std::min(links / 3, n);
  if (k < 1) return std::nullopt;
  const Index stride = quotient_up(n, k);
  const std::vector<Index> middle = around(n, stride);
  const Index rest = links - k - static_cast<Index>(middle.size());
  const Index first = std::min(rest, n);
  if (first + k - 1 < stride) return std::nullopt;
  return ChordPattern{n, {strided(n, first, 1), middle, strided(n, k, 1)}};
}

/// Pattern with strides 1, s_2 .. s_f, each about `width` times the one before it; nothing if it
/// cannot reach every distance.
std::optional<ChordPattern> geometric_strides(Index n, Index links, Index factors) {
  const Index width = std::min(links / factors, n);
  if (width < 1) return std::nullopt;
  std::vector<Index> strides{n};
  for (Index f = 1; f < factors; ++f) strides.push_back(quotient_up(strides.back(), width));
  const Index first = std::min(links - (factors - 1) * width, n);
  if (first < strides.back()) return std::nullopt;
  ChordPattern pattern{n, {strided(n, first, 1)}};
  for (std::size_t f = strides.size() - 1; f > 0; --f) {
    pattern.offsets.push_back(f == 1 ? around(n, strides[f]) : strided(n, width, strides[f]));
  }
  return pattern;
}

/// Text such as "1, 2, 3, ... (17 in all)".
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

void alternate_signs(ChordPattern& pattern) {
  for (std::size_t m = 1; m < pattern.offsets.size(); m += 2) {
    for (Index& offset : pattern.offsets[m]) offset = offset == 0 ? 0 : pattern.order - offset;
  }
}

ChordPattern chord_alternating_pattern(Index n) {
  ChordPattern pattern = chord_reference_pattern(n);
  alternate_signs(pattern);
  return pattern;
}

ChordPattern chord_mixed_radix_pattern(Index n, Index links) {
  require(n >= 1, "chord pattern: order {} is below 1", n);
  if (auto pattern = local_strided_local(n, links)) return *pattern;
  for (const Index factors : {3, 4, 5, 6, 7, 8, 2, 1}) {
    auto pattern = geometric_strides(n, links, factors);
    if (pattern && unreachable_distances(*pattern).empty()) return *pattern;
  }
  throw InvalidArgument(fmt::format(
      "chord pattern: {} links a row are too few for a mixed radix pattern of order {}", links, n));
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
