#pragma once

#include <array>
#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"

namespace matapprox {

enum class ExactForm {
  kAuto,   ///< the smallest
  kDense,  ///< all entries, as floats where that loses nothing; of a symmetric matrix one triangle
  kIntegers,  ///< the same in 1 to 16 bits each: images, counts
  kSparse,    ///< PackedSparse: entries that are not 0
};

template <>
struct EnumNames<ExactForm> {
  static constexpr std::array<std::string_view, 4> values{"auto", "dense", "integers", "sparse"};
};

struct ExactOptions {
  ExactForm form = ExactForm::kAuto;
  StorageBudget budget = {};  ///< most that it may take; unset: whatever it takes
  void visit(OptionVisitor& v);
};

/// What a form of an exact store takes.
struct ExactSize {
  ExactForm form = ExactForm::kDense;
  double bytes = 0;         ///< of the arrays
  std::string description;  ///< "integers of 8 bits, upper triangle"
};

/// The forms that A has, smallest first. `dense` is always one of them. Cost: A once, by columns,
/// or of a SparseOperator its entries; m n or nnz numbers of memory.
std::vector<ExactSize> exact_sizes(const LinearOperator& A, const RunControl& control = {});

/// A itself, without loss, in the fewest bytes of its exact stores: a matrix of integers in as many
/// bits as they need, a symmetric one as one triangle, a sparse one with its columns as distances
/// and its values as indices into a list, floats where all entries are floats. The error is 0 and
/// products differ from those of A by rounding.
///
/// One factor A: a PackedSparse or a BlockMatrix of dense tiles. Cost: that of exact_sizes, and the
/// entries once more. Throws InvalidArgument (an empty matrix, a form that A does not have),
/// BudgetTooSmall with the bytes that the smallest form takes, NumericalError for NaN or Inf,
/// NotAvailable if memory does not suffice, Interrupted.
Approximation exact(const LinearOperator& A,
                    const ExactOptions& options = {},
                    const RunControl& control = {});

}  // namespace matapprox
