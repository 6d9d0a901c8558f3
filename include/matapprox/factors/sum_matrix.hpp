#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

struct Factor;

/// A sum of m x n factors, such as a Toeplitz matrix and blocks of low rank. It stores the terms,
/// unpacked ones in doubles whatever the precision of the product: the others correct what they
/// leave, and would not correct what rounding them later adds. A product takes the products of all
/// of them, added in their order: results are bit-identical for any number of threads and of other
/// columns if those of the terms are.
class SumMatrix {
 public:
  /// Throws InvalidArgument for fewer than two terms, for terms of different sizes, and for terms
  /// that are transposed, sums themselves, or not in the memory of this process.
  explicit SumMatrix(std::vector<Factor> terms);

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  const std::vector<Factor>& terms() const { return *terms_; }
  Storage storage() const;
  /// Multiplications of a product with one vector.
  double multiplications() const;
  /// "toeplitz + 40 blocks".
  std::string description() const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns A(:, J), or A^T(:, J) if `transposed`. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;

  std::shared_ptr<const std::vector<Factor>> terms_;
  Index rows_ = 0;
  Index cols_ = 0;
};

}  // namespace matapprox
