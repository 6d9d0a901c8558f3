#include "methods/chord/forms.hpp"

#include <fmt/format.h>

#include <exception>

#include "core/require.hpp"
#include "core/stop_scope.hpp"
#include "methods/chord/pattern.hpp"
#include "operators/symmetry.hpp"

namespace matapprox::chord_fit {
namespace {

/// Up to this order a choice among all forms includes the reference pattern, which costs little
/// there: the choice is then seldom above what that pattern alone would reach.
constexpr Index kSmallOrder = 64;

kernels::ChordForm form_named(bool symmetrized) {
  return symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct;
}

Form form_of(Index n, const ChordOptions& options, bool symmetrized) {
  std::string name{options.offsets.empty() ? enum_name(options.pattern) : "offsets"};
  if (symmetrized) name += ", symmetrized";
  return {std::move(name), chord_pattern(n, options), form_named(symmetrized)};
}

Form form_of_start(const ChordOptions& options, const ChordPattern& pattern) {
  pattern.validate();
  require(options.factors == 0 || options.factors == pattern.factors(),
          "chord: factors is {}, but the warm start has {}",
          options.factors,
          pattern.factors());
  require_within(pattern, options.budget);
  return {options.symmetrize ? "as its start, symmetrized" : "as its start",
          pattern,
          form_named(options.symmetrize)};
}

}  // namespace

std::vector<Form> forms_of(const LinearOperator& A,
                           const ChordOptions& options,
                           const std::optional<ChordPattern>& start_pattern,
                           const RunControl& control) {
  const Index n = A.rows();
  const bool choose = options.pattern == ChordFitPattern::kAuto && options.offsets.empty();
  require(!start_pattern || !choose,
          "chord: a warm start has its own pattern, which auto cannot choose");
  const StopScope scope(control, "chord");
  const bool symmetric = (choose || options.symmetrize) && is_symmetric(A);
  if (options.symmetrize && !symmetric) {
    throw InvalidArgument(
        fmt::format("chord: symmetrize is for a symmetric matrix: {}", why_not_symmetric(A)));
  }
  // A start brings its pattern along, unless another one is named.
  const bool named = options.pattern != ChordFitPattern::kAlternating || !options.offsets.empty();
  if (start_pattern && start_pattern->order == n && !named)
    return {form_of_start(options, *start_pattern)};
  if (!choose) return {form_of(n, options, options.symmetrize)};
  require(options.factors == 0,
          "chord: factors {} is for one pattern, auto chooses among several",
          options.factors);
  std::vector<Form> forms;
  std::exception_ptr too_small;
  const auto add = [&](ChordFitPattern pattern, bool symmetrized) {
    ChordOptions one = options;
    one.pattern = pattern;
    try {
      forms.push_back(form_of(n, one, symmetrized));
    } catch (const BudgetTooSmall&) {
      too_small = std::current_exception();
    }
  };
  for (const ChordFitPattern pattern :
       {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
    if (symmetric) add(pattern, true);
    if (!options.symmetrize) add(pattern, false);
  }
  if (n <= kSmallOrder && !options.symmetrize) add(ChordFitPattern::kReference, false);
  if (forms.empty()) std::rethrow_exception(too_small);
  return forms;
}

}  // namespace matapprox::chord_fit
