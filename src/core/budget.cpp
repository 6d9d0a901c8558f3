#include "matapprox/core/budget.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "core/log2.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

struct Suffix {
  std::string_view text;
  StorageBudget::Unit unit;
  double factor;
};

constexpr std::array kSuffixes{
    Suffix{"", StorageBudget::Unit::kNumbers, 1.0},
    Suffix{"%", StorageBudget::Unit::kShare, 0.01},
    Suffix{"B", StorageBudget::Unit::kBytes, 1.0},
    Suffix{"kB", StorageBudget::Unit::kBytes, 1e3},
    Suffix{"MB", StorageBudget::Unit::kBytes, 1e6},
    Suffix{"GB", StorageBudget::Unit::kBytes, 1e9},
    Suffix{"TB", StorageBudget::Unit::kBytes, 1e12},
    Suffix{"KiB", StorageBudget::Unit::kBytes, 0x1p10},
    Suffix{"MiB", StorageBudget::Unit::kBytes, 0x1p20},
    Suffix{"GiB", StorageBudget::Unit::kBytes, 0x1p30},
    Suffix{"TiB", StorageBudget::Unit::kBytes, 0x1p40},
};

/// Suffix of a budget that names the precision of stored values, which decides how many fit into a
/// number of bytes.
struct PrecisionSuffix {
  std::string_view text;
  Precision precision;
};

constexpr std::array kPrecisions{PrecisionSuffix{" float", Precision::kFloat},
                                 PrecisionSuffix{" float16", Precision::kFloat16},
                                 PrecisionSuffix{" bfloat16", Precision::kBfloat16},
                                 PrecisionSuffix{" packed", Precision::kPacked}};

std::string_view suffix_of(Precision precision) {
  for (const PrecisionSuffix& suffix : kPrecisions) {
    if (suffix.precision == precision) return suffix.text;
  }
  return "";
}

}  // namespace

bool StorageBudget::admits(const Storage& storage, Index rows, Index cols) const {
  switch (unit) {
    case Unit::kUnset:
      return true;
    case Unit::kNumbers:
      return static_cast<double>(storage.numbers) <= amount;
    case Unit::kShare:
      return static_cast<double>(storage.numbers) <=
             amount * static_cast<double>(rows) * static_cast<double>(cols);
    case Unit::kBytes:
      return static_cast<double>(storage.bytes) <= amount;
  }
  return false;
}

double StorageBudget::bytes(Index rows, Index cols) const {
  const auto per_number = static_cast<double>(bytes_per_value(Precision::kDouble));
  switch (unit) {
    case Unit::kUnset:
      return std::numeric_limits<double>::infinity();
    case Unit::kNumbers:
      return per_number * amount;
    case Unit::kShare:
      return per_number * amount * static_cast<double>(rows) * static_cast<double>(cols);
    case Unit::kBytes:
      return amount;
  }
  return 0;
}

std::string StorageBudget::text() const {
  switch (unit) {
    case Unit::kUnset:
      return "";
    case Unit::kNumbers:
      return fmt::format("{:.17g}", amount);
    case Unit::kShare:
      return fmt::format("{:.15g}%", amount * 100.0);
    case Unit::kBytes:
      return fmt::format("{:.17g}B{}", amount, suffix_of(precision));
  }
  return "";
}

StorageBudget parse_budget(std::string_view text) {
  double amount = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), amount);
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  Precision precision = Precision::kDouble;
  for (const PrecisionSuffix& each : kPrecisions) {
    if (!rest.ends_with(each.text)) continue;
    rest.remove_suffix(each.text.size());
    precision = each.precision;
    break;
  }
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  const auto* suffix =
      std::find_if(std::begin(kSuffixes), std::end(kSuffixes), [&](const Suffix& candidate) {
        return candidate.text == rest;
      });
  const bool legal = failure == std::errc() && suffix != std::end(kSuffixes) &&
                     std::isfinite(amount) && amount > 0;
  require(legal,
          "budget '{}' is not a positive number followed by nothing (stored numbers), % (share of "
          "the matrix) or B, kB, MB, GB, KiB, MiB, GiB",
          text);
  return {suffix->unit, amount * suffix->factor, precision};
}

Index chord_reference_numbers(Index n) {
  return n <= 1 ? n : n * ceil_log2(n) * (floor_log2(n) + 1);
}

StorageBudget default_budget(Index rows, Index cols, Precision precision) {
  const Index n = std::max(rows, cols);
  const double per_row =
      static_cast<double>(chord_reference_numbers(n)) / static_cast<double>(std::max<Index>(n, 1));
  const double numbers =
      std::floor(per_row * (static_cast<double>(rows) + static_cast<double>(cols)) / 2.0);
  return {StorageBudget::Unit::kNumbers, numbers, precision};
}

Index resolve_rank(std::string_view method,
                   Index rank,
                   const StorageBudget& budget,
                   Index rows,
                   Index cols,
                   Index max_rank,
                   const std::function<Storage(Index)>& storage_of) {
  require(max_rank >= 1,
          "{}: the matrix is {} x {}; it needs at least one row and column",
          method,
          rows,
          cols);
  if (rank != 0) {
    require(rank >= 1 && rank <= max_rank, "{}: rank {} is outside 1..{}", method, rank, max_rank);
    return rank;
  }
  const StorageBudget limit =
      budget.is_set() ? budget : default_budget(rows, cols, budget.precision);
  const Storage least = storage_of(1);
  if (budget.is_set() && !limit.admits(least, rows, cols)) {
    throw BudgetTooSmall(
        fmt::format("{}: rank 1 stores {} numbers ({} bytes), more than the budget of {}",
                    method,
                    least.numbers,
                    least.bytes,
                    limit.text()),
        static_cast<double>(least.bytes));
  }
  Index fits = 1;
  Index too_many = max_rank + 1;
  while (too_many - fits > 1) {
    const Index middle = fits + (too_many - fits) / 2;
    (limit.admits(storage_of(middle), rows, cols) ? fits : too_many) = middle;
  }
  return fits;
}

}  // namespace matapprox
