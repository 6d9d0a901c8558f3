#include "tasks/listops_tree.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace matapprox::tasks {

std::int32_t listops_apply(std::int32_t op, std::span<std::int32_t> digits) {
  std::sort(digits.begin(), digits.end());
  if (op == kListopsMin) return digits.front();
  if (op == kListopsMax) return digits.back();
  if (op == kListopsSum) return std::accumulate(digits.begin(), digits.end(), 0) % kListopsDigits;
  const std::size_t n = digits.size();
  return (digits[(n - 1) / 2] + digits[n / 2]) / 2;
}

std::int32_t listops_value(std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> digits;  // digits of the open lists, one list after the other
  struct OpenList {
    std::int32_t op;
    std::size_t begin;  // index of its first digit
  };
  std::vector<OpenList> open;
  for (const std::int32_t token : tokens) {
    if (token < kListopsDigits) {
      digits.push_back(token);
    } else if (token != kListopsClose) {
      open.push_back({token, digits.size()});
      continue;
    } else {
      const OpenList list = open.back();
      open.pop_back();
      const std::int32_t value = listops_apply(list.op, std::span(digits).subspan(list.begin));
      digits.resize(list.begin);
      digits.push_back(value);
    }
    if (open.empty()) break;
  }
  return digits.front();
}

std::vector<std::int32_t> listops_root_digits(std::span<const std::int32_t> tokens) {
  std::vector<std::int32_t> digits;
  Index depth = 0;
  for (const std::int32_t token : tokens) {
    if (token < kListopsDigits) {
      if (depth == 1) digits.push_back(token);
    } else {
      depth += token == kListopsClose ? -1 : 1;
    }
    if (depth == 0) break;
  }
  return digits;
}

bool ListopsTrees::draw(SampleDraws& draws, std::vector<std::int32_t>& tokens) const {
  tokens.clear();
  std::array<std::int32_t, kListopsDeepest> missing{};  // missing children of each open list
  std::size_t open = 0;
  Index due = 1;  // nodes and brackets still to be written
  for (;;) {
    // Two bits decide between digit and operator, the other 30 which one: the probability of each
    // digit is within 1e-9 of 1/10.
    const std::uint32_t word = draws.word();
    const bool digit = static_cast<Index>(open) + 1 >= max_depth || (word & 3U) != 0;
    if (!digit) {
      const std::uint32_t rest = word >> 2U;
      tokens.push_back(kListopsMin + static_cast<std::int32_t>(rest & 3U));
      const std::int32_t children = 2 + draws.symbol(max_children - 1);
      missing[open++] = children;
      due += children;  // its bracket takes the place of the node itself
      if (static_cast<Index>(tokens.size()) + due > max_tokens) return false;
      continue;
    }
    tokens.push_back(
        static_cast<std::int32_t>((std::uint64_t{word >> 2U} * kListopsDigits) >> 30U));
    --due;
    while (open > 0 && --missing[open - 1] == 0) {
      tokens.push_back(kListopsClose);
      --due;
      --open;
    }
    if (open == 0) return static_cast<Index>(tokens.size()) <= max_tokens;
  }
}

}  // namespace matapprox::tasks
