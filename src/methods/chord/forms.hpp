#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/methods/chord.hpp"
#include "methods/chord/order/orderings.hpp"

namespace matapprox::chord_fit {

/// One form of the result of a fit: the pattern of the chain, whether the result is the chain P or
/// (P + P^T) / 2, and the order of rows and columns.
struct Form {
  std::string name;  ///< such as "mixed_radix, symmetrized, spectral"
  ChordPattern pattern;
  kernels::ChordForm form = kernels::ChordForm::kProduct;
  std::shared_ptr<const Ordering> ordering = {};  ///< null: natural order
  /// Number of the earlier form that this one reorders; its own number if it reorders none.
  Index base = 0;

  bool symmetrized() const { return form == kernels::ChordForm::kSymmetrized; }
};

/// Start of a fit besides its options: the caller's factors, or those from which a resumed fit was
/// started, and the orderings that it had computed.
struct FormStart {
  std::optional<ChordPattern> pattern;
  std::shared_ptr<const Ordering> ordering;  ///< order of the factors; null: natural
  KnownOrderings known;
};

struct Forms {
  std::vector<Form> list;
  KnownOrderings orderings;  ///< orderings computed for the forms
  bool cut_short = false;    ///< the time for the search ended before all orders were found
};

/// Returns the forms in which `options` requires A to be fitted: that of the start factors, if
/// there are any; else the named one; or, with pattern or order `auto`, the candidates that the
/// budget admits, first those in natural order. Throws as chord_pattern, InvalidArgument if a
/// matrix that is not symmetric is to be symmetrized or options contradict each other, and
/// Interrupted.
Forms forms_of(const LinearOperator& A,
               const ChordOptions& options,
               const FormStart& start,
               const RunControl& control);

}  // namespace matapprox::chord_fit
