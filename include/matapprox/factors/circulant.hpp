#pragma once

#include <complex>
#include <span>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// A circulant matrix C of order n: C(i, j) = c((i - j) mod n), where c is its first column, so
/// that C x is the circular convolution of c and x. [GVL13, Sec. 4.8]
///
/// Stores n numbers, and as many complex ones in memory for products: the Fourier transform of c,
/// of length L. L is n if n is a multiple of 4 without prime factors above 5, else the least such
/// number that is at least 2 n - 1. A product with one vector takes about 2 L log2 L
/// multiplications and has an error of a few eps log2(L) |c| |x| in each entry. Results are
/// bit-identical for any number of threads and of other columns.
class Circulant {
 public:
  /// Throws InvalidArgument unless the column has 1 to 2^29 numbers. Cost O(n log n).
  explicit Circulant(Vector first_column);

  const Vector& first_column() const { return first_column_; }
  Index rows() const { return first_column_.size(); }
  Index cols() const { return rows(); }
  Index size() const { return rows(); }
  /// Multiplications of a product with one vector.
  double multiplications() const;

  /// Return C X and C^T X for an n x b block X. Throw InvalidArgument if X does not have n rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns C(:, J), or C^T(:, J) if `transposed`, without rounding. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;

  Vector first_column_;
  int exponent_ = 0;                            ///< spectrum_ is that of c 2^-exponent_
  Index length_ = 0;                            ///< L
  std::vector<std::complex<double>> spectrum_;  ///< the first L / 2 + 1 coefficients
};

}  // namespace matapprox
