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
  kAuto,       ///< the smallest form
  kDense,      ///< all entries, as floats if that loses nothing; one triangle of a symmetric matrix
  kIntegers,   ///< the same in 1 to 16 bits each: images, counts
  kSparse,     ///< PackedSparse: entries that are not 0
  kCirculant,  ///< Circulant: the first column, which the others repeat one row further down
  kToeplitz,   ///< ToeplitzMatrix: each diagonal or antidiagonal, also of blocks, once
  kDictionary,  ///< DictionaryMatrix: the different values, and for each entry which one it is
  kCompressed,  ///< CompressedMatrix: doubles in compressed streams
};

template <>
struct EnumNames<ExactForm> {
  static constexpr std::array<std::string_view, 8> values{
      "auto", "dense", "integers", "sparse", "circulant", "toeplitz", "dictionary", "compressed"};
};

struct ExactOptions {
  ExactForm form = ExactForm::kAuto;
  StorageBudget budget = {};  ///< limit of the storage; unset: no limit
  void visit(OptionVisitor& v);
};

/// Size of one form of an exact store.
struct ExactSize {
  ExactForm form = ExactForm::kDense;
  double bytes = 0;         ///< bytes of the arrays
  std::string description;  ///< "integers of 8 bits, upper triangle"
};

/// Returns the forms that are possible for A, smallest first. `dense` is always one of them, a
/// dictionary only if it takes at most 95 % of the bytes of the dense and integer forms, compressed
/// doubles only if they take at most 45 % of the bytes of the others. Cost: A once, by columns, or
/// the entries of a SparseOperator; m n or nnz numbers of memory.
std::vector<ExactSize> exact_sizes(const LinearOperator& A, const RunControl& control = {});

/// Stores A itself, without loss, in the smallest of its exact forms: integers in as many bits as
/// they need, a symmetric matrix as one triangle, a sparse one with column indices as distances and
/// values as indices into a list, one with constant diagonals as their values, one with few
/// different values as a list of them, floats if all entries are floats. The sparse form comes
/// before a smaller dictionary, whose products take longer, if it fits into the budget and takes at
/// most twice its bytes, or if A is a SparseOperator with at most a quarter of nonzeros. Doubles
/// are compressed only where that takes at most 45 % of the bytes of the other forms, unless the
/// form is asked for. The error is 0; products differ from those of A by rounding.
///
/// The result has one factor A: a PackedSparse, Circulant, ToeplitzMatrix, DictionaryMatrix,
/// CompressedMatrix or BlockMatrix of dense tiles. Cost: that of exact_sizes, and the entries once
/// more. Throws InvalidArgument (an empty matrix, a form that A does not have), BudgetTooSmall with
/// the bytes of the smallest form, NumericalError for NaN or Inf, NotAvailable if memory does not
/// suffice, Interrupted.
Approximation exact(const LinearOperator& A,
                    const ExactOptions& options = {},
                    const RunControl& control = {});

}  // namespace matapprox
