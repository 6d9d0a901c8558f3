#pragma once

#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// Covariance (1/(n-1)) Z^T Z of n samples of d variables, Z the samples less their mean; or their
/// correlation, with each column of Z divided by its standard deviation. The d x d matrix is not
/// formed: a product is two products with Z. Means are taken in two passes, so that a large common
/// offset does not cost digits.
/// Stores n d numbers; a product with one vector takes 2 n d multiplications.
class CovarianceOperator final : public LinearOperator {
 public:
  /// Rows of `samples` (n x d) are the samples. Throws InvalidArgument if there are fewer than two
  /// rows, or for the correlation with a constant column, naming it; NumericalError, naming row and
  /// column, for NaN or Inf. Cost O(n d).
  CovarianceOperator(Matrix samples, bool correlation);

  /// Z / sqrt(n - 1); for the correlation, with columns of length 1.
  const Matrix& centered_samples() const { return centered_; }

  Index rows() const override { return centered_.cols(); }
  Index cols() const override { return centered_.cols(); }
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override;
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;

  Matrix centered_;  ///< Z / sqrt(n - 1)
  bool correlation_;
};

}  // namespace matapprox
