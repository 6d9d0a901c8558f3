#include "matapprox/methods/chord.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "matapprox/core/require.hpp"
#include "methods/chord/fit.hpp"
#include "methods/chord/plan.hpp"

namespace matapprox {
namespace {

/// W, P and Q of a product W or P^T W Q; the pointers share the factors' values. All are null for
/// another product.
struct ChordParts {
  std::shared_ptr<const ChordFactors> chain;
  std::shared_ptr<const Permutation> rows;
  std::shared_ptr<const Permutation> columns;
};

template <class T>
std::shared_ptr<const T> content(const Factor& factor) {
  return {factor.value, std::get_if<T>(factor.value.get())};
}

std::shared_ptr<const ChordFactors> chain_of(const Factor& factor) {
  if (const auto* placed = std::get_if<PlacedChord>(factor.value.get()))
    return std::make_shared<const ChordFactors>(placed->to_host());
  return content<ChordFactors>(factor);
}

ChordParts chord_parts(const FactorProduct& product) {
  const std::vector<Factor>& factors = product.factors();
  if (factors.size() == 1) return {chain_of(factors[0]), nullptr, nullptr};
  if (factors.size() != 3 || !factors[0].transposed || factors[1].transposed ||
      factors[2].transposed)
    return {};
  const ChordParts parts{
      chain_of(factors[1]), content<Permutation>(factors[0]), content<Permutation>(factors[2])};
  return parts.rows != nullptr && parts.columns != nullptr ? parts : ChordParts{};
}

}  // namespace

void ChordOptions::visit(OptionVisitor& v) {
  v.visit_enum("pattern",
               pattern,
               "alternating: links 0, 1, 2, 4 .. 2^(floor(log2 N) - 1), with signs that change "
               "from factor to factor; mixed_radix: three wide factors of the same size; auto: "
               "chosen from these by short fits, with and without symmetrize; reference: all signs "
               "+, as in the paper's code; paper: as in its text, one link fewer if N is a power "
               "of two; torch: as in its attention module, floor(log2 N) factors");
  v.visit("symmetrize",
          symmetrize,
          "fit (P + P^T)/2, P the product of the factors, to a symmetric matrix");
  v.visit_enum("order",
               order,
               "order in which rows and columns are fitted: natural; shift: the last factor's "
               "links shifted to where the matrix is large; rcm: reverse Cuthill-McKee; spectral: "
               "by the Fiedler vector; hop: found by annealing, so that large entries are few hops "
               "away; auto: chosen by short fits; default: natural, or auto with pattern auto");
  v.visit("offsets",
          offsets,
          "user-defined links (column - row) mod N: one list for all factors, such as 0,1,2,4, or "
          "one per factor, such as 0,1;0,2;0,4");
  v.visit(
      "factors", factors, "number of factors; 0: ceil(log2 N), more where the budget admits them");
  v.visit("budget", budget, "storage limit, e.g. 18432, 10% or 4MB; unset: the pattern's own size");
  v.visit_enum("effort", effort, "work of the fit; sets each option below that is -1");
  v.visit_enum("optimizer",
               optimizer,
               "adam: Adam, then L-BFGS and Levenberg-Marquardt; bfgs: L-BFGS alone, as in the "
               "paper");
  v.visit_enum(
      "start",
      start,
      "random starts: mixed, half of each row on the diagonal; paper: uniform in [1/K, 1/K "
      "+ 0.01]");
  v.visit("starts",
          starts,
          "number of random starts, of which the best is kept; one after a warm start; -1: by "
          "effort and N");
  v.visit("adam_steps",
          adam_steps,
          "number of annealed Adam steps; -1: by effort and N, none after a warm start");
  v.visit("max_iterations",
          max_iterations,
          "maximum number of L-BFGS iterations after Adam; -1: by effort and N");
  v.visit("newton_steps",
          newton_steps,
          "maximum number of Levenberg-Marquardt steps after L-BFGS, for small chains; -1: by "
          "effort and N");
  v.visit("columns_per_step",
          columns_per_step,
          "number of matrix columns that an Adam step reads; 0: all; -1: by N");
  v.visit("memory", memory, "number of L-BFGS correction pairs, 1..1000");
  v.visit(
      "tolerance",
      tolerance,
      "L-BFGS stops if the squared error decreases by less than this fraction in 200 iterations");
  v.visit_enum(
      "solver",
      solver,
      "implementation of L-BFGS and Levenberg-Marquardt after Adam: the library's own, or Ceres");
  v.visit("seed", seed, "seed of the random start");
}

Approximation chord(const LinearOperator& A,
                    const ChordOptions& options,
                    const RunControl& control) {
  return chord_fit::fit_chord(A, options, control, make_device_chord_objective);
}

ChordOptions warm_started(ChordOptions options,
                          const FactorProduct& found,
                          const std::string& what) {
  const ChordParts parts = chord_parts(found);
  require(parts.chain != nullptr, "{}: is not a Chord approximation", what);
  options.symmetrize = found.symmetrized();
  options.warm_start = parts.chain;
  options.warm_rows = parts.rows;
  options.warm_columns = parts.columns;
  return options;
}

// ------------------------------------------------------------------------------------ Patterns

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

Index parse_offset(std::string_view text, Index n, std::size_t factor) {
  const std::string_view digits = trimmed(text);
  Index offset = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), offset);
  require(failure == std::errc() && end == digits.data() + digits.size(),
          "chord: offset '{}' of factor {} is not a whole number in 0..{}",
          text,
          factor + 1,
          n - 1);
  require(offset >= 0 && offset < n,
          "chord: offset {} of factor {} is outside 0..{}",
          offset,
          factor + 1,
          n - 1);
  return offset;
}

/// Parses "0,1;0,2" into one list per factor.
std::vector<std::vector<Index>> parse_offsets(std::string_view text, Index n) {
  std::vector<std::vector<Index>> lists;
  for (const auto list : split(text, ';')) {
    std::vector<Index> offsets;
    for (const auto item : split(list, ',')) offsets.push_back(parse_offset(item, n, lists.size()));
    lists.push_back(std::move(offsets));
  }
  return lists;
}

void set_factors(ChordPattern& pattern, Index factors) {
  pattern.offsets.resize(static_cast<std::size_t>(factors), pattern.offsets.front());
}

/// Storage of `links` links in all factors together. The bytes include an integer for each offset
/// and for the number of links of each factor.
Storage storage_of(
    Index n, Index links, Index factors, const StorageBudget& budget, const Storage& beside) {
  const Index numbers = n * links;
  return {numbers + beside.numbers,
          numbers * bytes_per_value(budget.precision) + 8 * (links + factors) + beside.bytes};
}

/// Adds equal factors while the budget admits them, up to N^2 numbers.
void grow_to_budget(ChordPattern& pattern, const StorageBudget& budget, const Storage& beside) {
  const Index n = pattern.order;
  const Index links = pattern.links(0);
  Index fits = pattern.factors();
  Index too_many = std::max(fits, n / links) + 1;
  while (too_many - fits > 1) {
    const Index middle = fits + (too_many - fits) / 2;
    const Storage stored = storage_of(n, middle * links, middle, budget, beside);
    (budget.admits(stored, n, n) ? fits : too_many) = middle;
  }
  set_factors(pattern, fits);
}

/// Returns the named links; for `alternating`, those before the signs.
ChordPattern plain_pattern(Index n, ChordFitPattern name) {
  if (name == ChordFitPattern::kPaper) return chord_paper_pattern(n);
  if (name == ChordFitPattern::kTorch) return chord_torch_pattern(n);
  return chord_reference_pattern(n);
}

bool has_alternating_signs(const ChordOptions& options) {
  return options.offsets.empty() && (options.pattern == ChordFitPattern::kAlternating ||
                                     options.pattern == ChordFitPattern::kAuto);
}

/// Returns the pattern without regard to the budget. Sets `list_per_factor` if the offsets fix the
/// number of factors.
ChordPattern named_pattern(Index n, const ChordOptions& options, bool& list_per_factor) {
  ChordPattern pattern = plain_pattern(n, options.pattern);
  list_per_factor = false;
  if (!options.offsets.empty()) {
    const auto lists = parse_offsets(options.offsets, n);
    list_per_factor = lists.size() > 1;
    pattern.offsets = list_per_factor
                          ? lists
                          : std::vector<std::vector<Index>>(pattern.offsets.size(), lists.front());
  }
  return pattern;
}

constexpr Index kMixedRadixFactors = 3;

/// Uses as many links as the budget admits, up to n^2 numbers; without a budget, as many as the
/// reference pattern has.
ChordPattern mixed_radix_pattern(Index n, const ChordOptions& options, const Storage& beside) {
  require(options.factors == 0,
          "chord: factors {} is for patterns of equal factors; mixed_radix has three wide factors",
          options.factors);
  const StorageBudget& budget = options.budget;
  const ChordPattern reference = chord_reference_pattern(n);
  Index links = reference.stored_numbers() / n - beside.numbers / n;
  if (budget.is_set()) {
    Index fits = 0;
    Index too_many = std::max(links, n) + 1;
    while (too_many - fits > 1) {
      const Index middle = fits + (too_many - fits) / 2;
      const Storage stored = storage_of(n, middle, kMixedRadixFactors, budget, beside);
      (budget.admits(stored, n, n) ? fits : too_many) = middle;
    }
    links = fits;
  }
  try {
    return chord_mixed_radix_pattern(n, links);
  } catch (const InvalidArgument&) {
    // A matrix this small has no links to spare.
    if (!budget.is_set() && beside.numbers > 0) return mixed_radix_pattern(n, options, {});
    chord_fit::require_within(reference, budget, beside);  // throws if the budget is the cause
    throw;
  }
}

}  // namespace

Storage chord_fit::permutation_storage(Index n, Index permutations) {
  return {permutations * n, permutations * permutation_bytes(n)};
}

void chord_fit::require_within(const ChordPattern& pattern,
                               const StorageBudget& budget,
                               const Storage& beside) {
  const Index n = pattern.order;
  const Storage stored =
      storage_of(n, pattern.stored_numbers() / n, pattern.factors(), budget, beside);
  if (budget.admits(stored, n, n)) return;
  throw BudgetTooSmall(
      fmt::format("chord: {} factors of order {}{} store {} numbers ({} bytes), more than the "
                  "budget of {}",
                  pattern.factors(),
                  n,
                  beside.numbers > 0 ? " and permutations" : "",
                  stored.numbers,
                  stored.bytes,
                  budget.text()));
}

ChordPattern named_chord_pattern(Index n, ChordLinks links) {
  switch (links) {
    case ChordLinks::kReference:
      return chord_reference_pattern(n);
    case ChordLinks::kPaper:
      return chord_paper_pattern(n);
    case ChordLinks::kTorch:
      return chord_torch_pattern(n);
  }
  throw InvalidArgument("chord: unknown pattern");
}

ChordPattern chord_pattern(Index n, const ChordOptions& options) {
  return chord_fit::chord_pattern_beside(n, options, {});
}

ChordPattern chord_fit::chord_pattern_beside(Index n,
                                             const ChordOptions& options,
                                             const Storage& beside) {
  require(n >= 1, "chord: order {} is below 1", n);
  require(options.factors >= 0, "chord: factors {} is negative", options.factors);
  if (options.pattern == ChordFitPattern::kMixedRadix && options.offsets.empty())
    return mixed_radix_pattern(n, options, beside);
  bool list_per_factor = false;
  ChordPattern pattern = named_pattern(n, options, list_per_factor);
  if (list_per_factor) {
    require(options.factors == 0 || options.factors == pattern.factors(),
            "chord: factors is {}, but offsets has {} lists",
            options.factors,
            pattern.factors());
  } else if (options.factors > 0) {
    set_factors(pattern, options.factors);
  }
  pattern.validate();

  const StorageBudget& budget = options.budget;
  require_within(pattern, budget, beside);
  if (budget.is_set() && options.factors == 0 && !list_per_factor)
    grow_to_budget(pattern, budget, beside);
  if (has_alternating_signs(options)) alternate_signs(pattern);
  return pattern;
}

}  // namespace matapprox
