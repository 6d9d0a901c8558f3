#pragma once

#include <functional>
#include <optional>

#include "matapprox/attention/attention.hpp"

namespace matapprox::attention {

// Lengths from which on one mechanism costs less than another.

/// Parameters of Table 1 of [WKZL23] besides N, with the values of the paper's experiments.
struct TableOneSetting {
  Index width = 384;               ///< d
  Index heads = 6;                 ///< m there, h here
  Index linformer_rank = 256;      ///< k
  Index singularformer_rank = 64;  ///< r
  bool operator==(const TableOneSetting&) const = default;
};

/// The entries of [WKZL23, Table 1] for one attention layer at N tokens: multiplications, and as
/// `stored` all numbers that the forward pass computes.
///
/// The layers' own cost() has the same multiplications, except for a Linformer whose heads share E
/// and F: it projects k mixtures to keys and values instead of N tokens, 2 (N - k) d^2 less. Its
/// `stored`, the numbers that the backward pass needs, differs. No layer counts its result, d N.
/// Softmax attention never holds its h N^2 entries nor Linformer its h k N, only h N logarithms of
/// sums. Linformer counts E and F, 2 k N, as parameters; if all heads share E and F, it stores
/// mixtures, 4 k d and their 2 k sums, in place of N keys and values. Singularformer stores N + r
/// logarithms of sums.
AttentionCost table_one_softmax(const TableOneSetting& setting, Index length);
AttentionCost table_one_linformer(const TableOneSetting& setting, Index length);
AttentionCost table_one_singularformer(const TableOneSetting& setting, Index length);

/// Cost of one layer as a function of the length.
using CostOfLength = std::function<AttentionCost(Index)>;

/// The smallest of the compared lengths from which on `cost` is below `reference`; empty if it is
/// not below at the longest.
struct Crossover {
  std::optional<Index> multiplications;
  std::optional<Index> stored;
};

/// Compares the two at the lengths 1..longest. Throws InvalidArgument if longest is below 1.
Crossover crossover(const CostOfLength& cost, const CostOfLength& reference, Index longest);

}  // namespace matapprox::attention
