#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// A dense m x n matrix in memory. Its known facts are computed once, at construction: whether it
/// equals its transpose, the number of nonzero entries, the Frobenius norm and the largest entry.
/// It counts as symmetric if no entry differs from its mirror image by more than 32 eps times the
/// largest of both and sqrt|a_ii a_jj| (KnownFacts::averaged_asymmetry); no entry is changed.
/// Stores m n numbers; a product with one vector takes m n multiplications.
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

/// Direction in which the entries of a matrix are contiguous in memory.
enum class MemoryOrder { kColumns, kRows };

/// A dense matrix in memory that belongs to the caller; no entry is copied. For either order, its
/// products and known facts are bit-identical to those of a DenseOperator made from a copy; the
/// facts are computed on first use, in one pass over the entries. The entries must not change while
/// the view exists.
class DenseView final : public LinearOperator {
 public:
  struct Entries {
    const double* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    /// Distance, in numbers, from one column to the next (kColumns; at least `rows`) or from one
    /// row to the next (kRows; at least `cols`).
    Index stride = 0;
    MemoryOrder order = MemoryOrder::kColumns;
  };
  /// `owner` is kept alive as long as the view; it may be null. Throws InvalidArgument for a
  /// negative size or a stride that is too short. The first use throws NumericalError, naming row
  /// and column (counted from 0), for NaN or Inf.
  explicit DenseView(const Entries& entries,
                     std::shared_ptr<const void> owner = nullptr,
                     std::string description = "dense");

  Index rows() const override { return entries_.rows; }
  Index cols() const override { return entries_.cols; }
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override;
  std::string description() const override { return description_; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  bool by_rows() const { return entries_.order == MemoryOrder::kRows; }
  void find_facts() const;
  ConstBlock stored_as_given() const;
  /// Finds the facts and returns the matrix, or its transpose if it is stored by rows.
  ConstBlock stored() const;

  Entries entries_;
  std::shared_ptr<const void> owner_;
  std::string description_;
  mutable std::once_flag facts_found_;
  mutable KnownFacts facts_;
};

// Derivatives of a gray image, m x n in and out. Beyond the border the image is mirrored without
// repeating the border pixel: row -1 is row 1, row m is row m - 2 (a single row mirrors itself).

/// sqrt(gx^2 + gy^2) with central differences gx(i,j) = (I(i,j+1) - I(i,j-1)) / 2, gy likewise;
/// hence gx is 0 in the first and last column, gy in the first and last row.
Matrix gradient_magnitude(const Matrix& image);

/// min(max(L, 0), 255) with L(i,j) = I(i-1,j) + I(i+1,j) + I(i,j-1) + I(i,j+1) - 4 I(i,j).
Matrix clipped_laplacian(const Matrix& image);

}  // namespace matapprox
