#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// What an approximation takes: values alone, and values with their indices in bytes.
struct Storage {
  Index numbers = 0;
  Index bytes = 0;
};

/// An upper limit for Storage, in the unit in which the user gave it.
struct StorageBudget {
  enum class Unit { kUnset, kNumbers, kShare, kBytes };
  Unit unit = Unit::kUnset;
  double amount = 0;                         ///< numbers, share of m*n in 0..1, or bytes
  Precision precision = Precision::kDouble;  ///< how values are stored; decides the bytes

  bool is_set() const { return unit != Unit::kUnset; }
  /// True if `storage` of an approximation of an m x n matrix is within the budget; an unset budget
  /// admits everything.
  bool admits(const Storage& storage, Index rows, Index cols) const;
  /// In bytes, numbers and shares counted as doubles; infinite if unset.
  double bytes(Index rows, Index cols) const;
  /// What parse_budget reads back: "18432", "10%", "4000000B", "4000000B float".
  std::string text() const;
};

/// Reads "18432" (numbers), "10%" (share of m*n), "4MB" = 4e6 bytes, "4MiB" = 4*2^20 bytes; also k,
/// G and a plain "B"; " float" or another precision behind it sets that. Throws InvalidArgument for
/// anything else, zero or negative.
StorageBudget parse_budget(std::string_view text);

/// What the Chord reference pattern stores for order n: n * ceil(log2 n) * (floor(log2 n) + 1)
/// numbers; 1 for n = 1. The default budget.
Index chord_reference_numbers(Index n);

/// The default budget of an m x n matrix: chord_reference_numbers(n) if square, else
/// (m + n) / 2 times the reference pattern's numbers per row at order max(m, n).
StorageBudget default_budget(Index rows, Index cols, Precision precision = Precision::kDouble);

/// The rank to use: `rank` itself if positive (checked against 1..max_rank); otherwise the largest
/// rank in 1..max_rank whose storage_of(rank) is within `budget` (the default budget if unset).
/// storage_of must not decrease. Throws InvalidArgument for a rank outside 1..max_rank, and
/// BudgetTooSmall, naming what rank 1 needs, if a budget is set and nothing fits; without one, rank
/// 1 always does. `method` starts the messages.
Index resolve_rank(std::string_view method,
                   Index rank,
                   const StorageBudget& budget,
                   Index rows,
                   Index cols,
                   Index max_rank,
                   const std::function<Storage(Index)>& storage_of);

}  // namespace matapprox
