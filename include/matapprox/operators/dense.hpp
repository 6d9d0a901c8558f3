#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// A dense matrix, m x n, as it is stored. What it knows of itself is found once, when it is made:
/// whether it equals its transpose, how many entries are not 0, its Frobenius norm and its largest
/// entry. Where mirror images differ by no more than 100 rounding errors of the largest entry, they
/// are averaged, so that what is symmetric to rounding is exactly symmetric
/// (KnownFacts::averaged_asymmetry). Stores m n numbers; a product with one vector takes m n
/// multiplications.
class DenseOperator final : public LinearOperator {
 public:
  /// Throws NumericalError, naming row and column (counted from 0), for NaN or Inf. Cost O(m n).
  explicit DenseOperator(Matrix values, std::string description = "dense");

  const Matrix& values() const { return values_; }

  Index rows() const override { return values_.rows(); }
  Index cols() const override { return values_.cols(); }
  Vector diagonal() const override { return values_.diagonal(); }
  Cost cost() const override;
  KnownFacts known_facts() const override { return facts_; }
  std::string description() const override { return description_; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;

  Matrix values_;
  std::string description_;
  KnownFacts facts_;
};

}  // namespace matapprox
