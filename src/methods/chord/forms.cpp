#include "methods/chord/forms.hpp"

#include <fmt/format.h>

#include "core/require.hpp"
#include "operators/symmetry.hpp"

namespace matapprox::chord_fit {
namespace {

/// Up to this order a choice among all forms includes the reference pattern: it is better where a
/// few entries are the whole matrix (MiniBooNE of the paper's Table 1), and costs little there.
constexpr Index kSmallOrder = 64;

Form form_of(Index n, const ChordOptions& options, bool symmetrized) {
  std::string name{options.offsets.empty() ? enum_name(options.pattern) : "offsets"};
  if (symmetrized) name += ", symmetrized";
  return {std::move(name),
          chord_pattern(n, options),
          symmetrized ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct};
}

Form form_of_start(const ChordOptions& options) {
  return {options.symmetrize ? "as its start, symmetrized" : "as its start",
          options.warm_start->pattern,
          options.symmetrize ? kernels::ChordForm::kSymmetrized : kernels::ChordForm::kProduct};
}

}  // namespace

std::vector<Form> forms_of(const LinearOperator& A, const ChordOptions& options) {
  const Index n = A.rows();
  const bool choose = options.pattern == ChordFitPattern::kAuto && options.offsets.empty();
  const bool symmetric = (choose || options.symmetrize) && is_symmetric(A);
  if (options.symmetrize && !symmetric)
    throw InvalidArgument(
        fmt::format("chord: symmetrize is for a symmetric matrix: {}", why_not_symmetric(A)));
  // A start that is given brings its pattern along, unless another one is named.
  const bool by_name = options.pattern != ChordFitPattern::kAlternating && !choose;
  if (options.warm_start && options.warm_start->pattern.order == n && options.offsets.empty() &&
      !by_name)
    return {form_of_start(options)};
  if (!choose) return {form_of(n, options, options.symmetrize)};
  require(options.factors == 0,
          "chord: factors {} is for one pattern, auto chooses among several",
          options.factors);
  std::vector<Form> forms;
  const auto add = [&](ChordFitPattern pattern, bool symmetrized) {
    ChordOptions one = options;
    one.pattern = pattern;
    forms.push_back(form_of(n, one, symmetrized));
  };
  for (const ChordFitPattern pattern :
       {ChordFitPattern::kMixedRadix, ChordFitPattern::kAlternating}) {
    if (symmetric) add(pattern, true);
    if (!options.symmetrize) add(pattern, false);
  }
  if (n <= kSmallOrder && !options.symmetrize) add(ChordFitPattern::kReference, false);
  return forms;
}

}  // namespace matapprox::chord_fit
