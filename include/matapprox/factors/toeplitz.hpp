#pragma once

#include <array>
#include <complex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// The entry in row i, column j of an m x n level depends on one number.
enum class ToeplitzForm {
  kToeplitz,   ///< i - j: m + n - 1 values, the first for i - j = 1 - n
  kSymmetric,  ///< |i - j|: max(m, n) values, the first for i = j
  kHankel,     ///< i + j: m + n - 1 values, the first for i = j = 0
};

template <>
struct EnumNames<ToeplitzForm> {
  static constexpr std::array<std::string_view, 3> values{"toeplitz", "symmetric", "hankel"};
};

/// One level of a ToeplitzMatrix.
struct ToeplitzLevel {
  Index rows = 1;
  Index cols = 1;
  ToeplitzForm form = ToeplitzForm::kToeplitz;
  /// Number of values d(i, j) of the level.
  Index values() const;
  /// d(i, j), 0 <= d < values().
  Index value(Index i, Index j) const;
};

/// A matrix with one value along each of its diagonals or antidiagonals, on two levels: blocks in
/// the positions of an m_1 x n_1 level, each block an m_2 x n_2 level. The entry in row i_1 m_2 +
/// i_2, column j_1 n_2 + j_2 is s(d_1(i_1, j_1), d_2(i_2, j_2)), where s is the symbol. Toeplitz
/// and Hankel matrices have a first level of 1 x 1. The kernel matrix of a function of x - y and of
/// the points of a regular grid in the plane has two levels.
///
/// Stores the symbol, D_1 D_2 numbers, and in memory its Fourier transform for products: about 2
/// L_1 L_2 numbers, where L_k >= m_k + n_k - 1 is a length with no prime factor above 5. A product
/// with one vector takes about 2 L_1 L_2 log2(L_1 L_2) multiplications; its error in each entry is
/// a few eps log2(L_1 L_2) times |x| and the norm of the symbol. Results are bit-identical for any
/// number of threads and of other columns. [GVL13, Sec. 4.7]
class ToeplitzMatrix {
 public:
  struct Content {
    std::array<ToeplitzLevel, 2> levels;
    Vector symbol;  ///< value (d_1, d_2) at d_1 D_2 + d_2
  };
  /// Throws InvalidArgument for a level without rows or columns, a side beyond 2^28, or a symbol of
  /// another number of values.
  explicit ToeplitzMatrix(Content content);

  const Content& content() const { return content_; }
  Index rows() const { return content_.levels[0].rows * content_.levels[1].rows; }
  Index cols() const { return content_.levels[0].cols * content_.levels[1].cols; }
  Index size() const { return content_.symbol.size(); }
  /// Multiplications of a product with one vector.
  double multiplications() const;
  /// "Toeplitz", "Hankel, 32 x 32 blocks that are symmetric Toeplitz".
  std::string description() const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns A(:, J), or A^T(:, J) if `transposed`, without rounding. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  class Workspace;
  Matrix multiply(bool transposed, const ConstBlock& X) const;

  Content content_;
  std::array<Index, 2> lengths_{};  ///< L_1, L_2; L_1 is 1 if the first level is 1 x 1
  int exponent_ = 0;                ///< spectrum_ is that of the symbol times 2^-exponent_
  std::vector<std::complex<double>> spectrum_;  ///< L_1 x (L_2 / 2 + 1), row-major
};

}  // namespace matapprox
