#pragma once

#include <string>
#include <vector>

#include "kernels/chord.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/methods/chord.hpp"

namespace matapprox::chord_fit {

/// One shape that a fit can give its result: where the chain has entries, and whether the result is
/// the chain P or (P + P^T) / 2.
struct Form {
  std::string name;  ///< "mixed_radix, symmetrized"
  ChordPattern pattern;
  kernels::ChordForm form = kernels::ChordForm::kProduct;

  bool symmetrized() const { return form == kernels::ChordForm::kSymmetrized; }
};

/// The forms that `options` asks to fit A in: one, or with pattern `auto` those to choose from,
/// each within the budget. Throws as chord_pattern, and InvalidArgument if a matrix that is not
/// symmetric is to be symmetrized.
std::vector<Form> forms_of(const LinearOperator& A, const ChordOptions& options);

}  // namespace matapprox::chord_fit
