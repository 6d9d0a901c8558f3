#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// A dense matrix, m x n, as it is stored. What it knows of itself is found once, when it is made:
/// whether it equals its transpose, how many entries are not 0, its Frobenius norm and its largest
/// entry. It counts as symmetric where no entry differs from its mirror image by more than 32
/// rounding errors of the larger one (KnownFacts::asymmetry); no entry is changed. Stores m n
/// numbers; a product with one vector takes m n multiplications.
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

/// In which direction the entries of a matrix lie one after the other.
enum class MemoryOrder { kColumns, kRows };

/// Somebody else's memory as a dense matrix: no entry is copied. It multiplies, and knows of
/// itself, what a DenseOperator made from a copy does, to the bit, whatever the order; but what it
/// knows is found when it is first used, in one pass over the entries. They must not change while
/// it lives.
class DenseView final : public LinearOperator {
 public:
  struct Entries {
    const double* data = nullptr;
    Index rows = 0;
    Index cols = 0;
    /// Numbers from one column to the next (kColumns; at least `rows`) or from one row to the next
    /// (kRows; at least `cols`).
    Index stride = 0;
    MemoryOrder order = MemoryOrder::kColumns;
  };
  /// `owner` lives as long as the view; it may be null. Throws InvalidArgument for a negative size
  /// or a stride that is too short. NumericalError, naming row and column (counted from 0), for
  /// NaN or Inf comes with the first use.
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
  /// The matrix, or its transpose where rows lie one after the other, once its facts are found.
  ConstBlock stored() const;

  Entries entries_;
  std::shared_ptr<const void> owner_;
  std::string description_;
  mutable std::once_flag facts_found_;
  mutable KnownFacts facts_;
};

}  // namespace matapprox
