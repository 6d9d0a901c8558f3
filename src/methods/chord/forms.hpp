#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/chord.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
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

/// The forms that `options` asks to fit A in: that of the factors to start from, `start_pattern`,
/// unless another is named; one; or with pattern `auto` those to choose from that the budget
/// admits. Throws as chord_pattern, and InvalidArgument if a matrix that is not symmetric is to be
/// symmetrized.
std::vector<Form> forms_of(const LinearOperator& A,
                           const ChordOptions& options,
                           const std::optional<ChordPattern>& start_pattern,
                           const RunControl& control);

}  // namespace matapprox::chord_fit
