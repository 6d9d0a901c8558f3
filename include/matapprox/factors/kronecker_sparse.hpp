#pragma once

#include <string>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/factors/packed.hpp"

namespace matapprox {

/// A matrix with the entries of the pattern I_a (x) 1_{b x c} (x) I_d: a diagonal blocks, each of
/// b x c diagonal matrices of order d. A butterfly is a product of such factors, log N of them with
/// b = c = 2 for order N [ZRG23].
///
/// Stores a b c d numbers, in a few bits per value or in doubles: the entry in row (i_a b + i_b) d
/// + i_d, column (i_a c + i_c) d + i_d is value((i_a b + i_b) d + i_d, i_c) of a matrix with c
/// columns. A product with one vector takes a b c d multiplications, and unpacks the values.
/// Results are bit-identical for any number of threads and of other columns.
class KroneckerSparse {
 public:
  struct Pattern {
    Index blocks = 1;  ///< a
    Index rows = 1;    ///< b
    Index cols = 1;    ///< c
    Index order = 1;   ///< d
  };
  /// Throws InvalidArgument unless the values are a b d x c and all sizes positive.
  KroneckerSparse(Pattern pattern, PackedMatrix values);

  const Pattern& pattern() const { return pattern_; }
  const PackedMatrix& values() const { return values_; }
  Index rows() const { return values_.rows(); }
  Index cols() const { return pattern_.blocks * pattern_.cols * pattern_.order; }
  Storage storage() const { return values_.storage(); }
  double multiplications() const;
  /// "8 blocks of 2 x 2 diagonals of order 64".
  std::string description() const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;

  Pattern pattern_;
  PackedMatrix values_;
};

}  // namespace matapprox
