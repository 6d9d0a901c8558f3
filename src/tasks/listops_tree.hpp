#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tasks/draws.hpp"

namespace matapprox::tasks {

/// Token ids of ListOps; digits are 0..9.
inline constexpr std::int32_t kListopsDigits = 10;
inline constexpr std::int32_t kListopsMin = 10;
inline constexpr std::int32_t kListopsMax = 11;
inline constexpr std::int32_t kListopsMed = 12;
inline constexpr std::int32_t kListopsSum = 13;
inline constexpr std::int32_t kListopsOperators = 4;
inline constexpr std::int32_t kListopsClose = 14;
inline constexpr std::int32_t kListopsPadding = 15;
inline constexpr Index kListopsDeepest = 32;

/// The value 0..9 of an operator on one or more digits, in any order; sorts them.
std::int32_t listops_apply(std::int32_t op, std::span<std::int32_t> digits);

/// The value of a tree; tokens after the tree are ignored.
std::int32_t listops_value(std::span<const std::int32_t> tokens);

/// The values of the root's children that are digits, in order.
std::vector<std::int32_t> listops_root_digits(std::span<const std::int32_t> tokens);

/// Random trees within given limits.
struct ListopsTrees {
  Index max_tokens = 0;  ///< trees with more tokens are rejected
  Index max_depth = 0;
  std::int32_t max_children = 0;
  /// Draws a tree in the order in which it is written. Returns false as soon as the tree is certain
  /// to have more than max_tokens; `tokens` is then incomplete.
  bool draw(SampleDraws& draws, std::vector<std::int32_t>& tokens) const;
};

}  // namespace matapprox::tasks
