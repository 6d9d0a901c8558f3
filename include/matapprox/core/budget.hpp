#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Storage of an approximation: the number of stored values, and the bytes of values and indices
/// together.
struct Storage {
  Index numbers = 0;
  Index bytes = 0;
};

/// An upper limit for Storage, in the unit in which the user gave it.
struct StorageBudget {
  enum class Unit { kUnset, kNumbers, kShare, kBytes };
  Unit unit = Unit::kUnset;
  double amount = 0;                         ///< numbers, share of m*n in 0..1, or bytes
  Precision precision = Precision::kDouble;  ///< precision of the stored values

  bool is_set() const { return unit != Unit::kUnset; }
  /// True if `storage` of an approximation of an m x n matrix is within the budget; an unset budget
  /// admits everything.
  bool admits(const Storage& storage, Index rows, Index cols) const;
  /// The budget in bytes, where numbers and shares count 8 bytes per number. Infinite if unset.
  double bytes(Index rows, Index cols) const;
  /// The budget as text for parse_budget: "18432", "10%", "4000000B", "4000000B float".
  std::string text() const;
};

/// Reads "18432" (numbers), "10%" (share of m*n), "4MB" = 4e6 bytes or "4MiB" = 4*2^20 bytes. The
/// units are B, kB, MB, GB, TB, KiB, MiB, GiB and TiB. The suffix " float" or that of another
/// precision sets the precision. Throws InvalidArgument for any other text and for values that are
/// not positive.
StorageBudget parse_budget(std::string_view text);

/// Number of values that the Chord reference pattern stores for order n: n * ceil(log2 n) *
/// (floor(log2 n) + 1); 1 for n = 1. This is the default budget of a square matrix.
Index chord_reference_numbers(Index n);

/// The default budget of an m x n matrix: chord_reference_numbers(n) if square, else
/// (m + n) / 2 times the reference pattern's numbers per row at order max(m, n).
StorageBudget default_budget(Index rows, Index cols, Precision precision = Precision::kDouble);

/// Returns the rank to use: `rank` if it is not 0 (checked against 1..max_rank), otherwise the
/// largest rank in 1..max_rank whose storage_of(rank) is within `budget` (the default budget if
/// unset). storage_of must not decrease. Throws InvalidArgument for a rank outside 1..max_rank, and
/// BudgetTooSmall, with the storage of rank 1, if a budget is set and rank 1 exceeds it. Without a
/// budget, rank 1 is always accepted. Messages begin with `method`.
Index resolve_rank(std::string_view method,
                   Index rank,
                   const StorageBudget& budget,
                   Index rows,
                   Index cols,
                   Index max_rank,
                   const std::function<Storage(Index)>& storage_of);

}  // namespace matapprox
