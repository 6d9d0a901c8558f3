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

/// One shape that a fit can give its result: where the chain has entries, whether the result is the
/// chain P or (P + P^T) / 2, and in which order of rows and columns.
struct Form {
  std::string name;  ///< "mixed_radix, symmetrized, spectral"
  ChordPattern pattern;
  kernels::ChordForm form = kernels::ChordForm::kProduct;
  std::shared_ptr<const Ordering> ordering = {};  ///< null: natural
  /// Number of the form that this one orders, which is before it; its own number where it orders
  /// none.
  Index base = 0;

  bool symmetrized() const { return form == kernels::ChordForm::kSymmetrized; }
};

/// What a fit begins with besides its options: the caller's factors, or those that a fit which goes
/// on was started from, and the orderings that it had computed.
struct FormStart {
  std::optional<ChordPattern> pattern;
  std::shared_ptr<const Ordering> ordering;  ///< of the factors; null: natural
  KnownOrderings known;
};

struct Forms {
  std::vector<Form> list;
  KnownOrderings orderings;  ///< that were computed for them
  bool cut_short = false;    ///< the time for the search of orders was over before all were found
};

/// The forms that `options` asks to fit A in: that of the factors to start from, unless another is
/// named; one; or with pattern or order `auto` those to choose from that the budget admits, first
/// those in natural order. Throws as chord_pattern, InvalidArgument if a matrix that is not
/// symmetric is to be symmetrized or options contradict each other, and Interrupted.
Forms forms_of(const LinearOperator& A,
               const ChordOptions& options,
               const FormStart& start,
               const RunControl& control);

}  // namespace matapprox::chord_fit
