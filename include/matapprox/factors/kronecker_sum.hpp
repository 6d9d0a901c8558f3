#pragma once

#include <optional>
#include <span>
#include <string>

#include "matapprox/core/budget.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/factors/packed.hpp"

namespace matapprox {

/// A sum of Kronecker products A = sum_k B_k (x) C_k, B_k of m_1 x n_1 and C_k of m_2 x n_2: the
/// entry in row i_1 m_2 + i_2, column j_1 n_2 + j_2 is sum_k B_k(i_1, j_1) C_k(i_2, j_2). The terms
/// are the columns of L and R in the rearranged matrix L R^T, of m_1 n_1 x m_2 n_2: B_k(i_1, j_1) =
/// L(i_1 + m_1 j_1, k), and C_k likewise. |A|_F is the norm of L R^T. [VLP93]
///
/// Stores L and R in a few bits per value, or in doubles; only the upper triangles of symmetric B_k
/// and C_k; no R if C_k is a multiple of B_k. A product with one vector takes r (m_2 n_2 n_1 + m_1
/// n_1 m_2) multiplications with r terms, and unpacks L and R. Results are bit-identical for any
/// number of threads and of other columns.
class KroneckerSum {
 public:
  struct Shape {
    Index left_rows = 0;   ///< m_1
    Index left_cols = 0;   ///< n_1
    Index right_rows = 0;  ///< m_2
    Index right_cols = 0;  ///< n_2
  };
  /// The content as a file holds it (docs/file-format.md, kind `kronecker`).
  struct Content {
    Shape shape;
    /// B_k and C_k are symmetric: L and R have the columns of their upper triangles, and entries
    /// off the diagonal are sqrt(2) times those of B_k and C_k.
    bool symmetric = false;
    PackedMatrix left;
    std::optional<PackedMatrix> right;
    Vector weights;  ///< r numbers w if there is no R: C_k = w_k B_k
  };
  /// Throws InvalidArgument if the parts do not fit together, or a weight is not finite.
  explicit KroneckerSum(Content content);

  const Content& content() const { return content_; }
  const Shape& shape() const { return content_.shape; }
  Index rows() const { return shape().left_rows * shape().right_rows; }
  Index cols() const { return shape().left_cols * shape().right_cols; }
  /// Number of terms, r.
  Index count() const { return content_.left.cols(); }
  Storage storage() const;
  /// Multiplications of a product with one vector.
  double multiplications() const;
  /// "sum of 3 Kronecker products of 32 x 32 and 32 x 32".
  std::string description() const;

  /// Return A X and A^T X. Throw InvalidArgument if X has the wrong number of rows.
  Matrix apply(const ConstBlock& X) const { return multiply(false, X); }
  Matrix apply_transpose(const ConstBlock& X) const { return multiply(true, X); }
  /// Returns A(:, J), or A^T(:, J) if `transposed`. The indices must be in range.
  Matrix columns(bool transposed, std::span<const Index> J) const;

 private:
  Matrix multiply(bool transposed, const ConstBlock& X) const;
  /// All entries of the terms: m_1 n_1 x r, and m_2 n_2 x r.
  Matrix left_terms() const;
  Matrix right_terms() const;

  Content content_;
};

/// The rearranged matrix of A (m_1 m_2 x n_1 n_2), of m_1 n_1 x m_2 n_2: row i_1 + m_1 j_1 has the
/// entries of block (i_1, j_1) of A, column after column. Throws InvalidArgument if the shape is
/// not that of A.
Matrix rearranged(const Matrix& A, const KroneckerSum::Shape& shape);

/// Number of entries on and above the diagonal of an n x n matrix.
constexpr Index triangle_entries(Index n) { return n * (n + 1) / 2; }
/// Each row of `terms` (n(n + 1)/2 of them) from the two rows of `full` (n^2) that belong to mirror
/// images: their mean times sqrt(2), so that norms and inner products are kept.
Matrix triangles_of(const Matrix& full, Index n);

}  // namespace matapprox
