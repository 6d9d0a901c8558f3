#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// Returns A^T as an operator, without copying a number; the transpose of a transpose is A itself.
/// Throws InvalidArgument for a null pointer.
std::shared_ptr<const LinearOperator> transpose(std::shared_ptr<const LinearOperator> A);

/// A - B; each product takes one with A and one with B. Keeps references: A and B must outlive it.
class Difference final : public LinearOperator {
 public:
  /// Throws InvalidArgument if the shapes differ.
  Difference(const LinearOperator& A, const LinearOperator& B);

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Vector diagonal() const override;
  Cost cost() const override;
  KnownFacts known_facts() const override;
  std::string description() const override;

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;

  const LinearOperator& A_;
  const LinearOperator& B_;
};

/// A, with counts of its products, columns and rows. Keeps a reference: A must outlive it.
class CountedOperator final : public LinearOperator {
 public:
  explicit CountedOperator(const LinearOperator& A) : A_(A) {}

  /// Number of passes over A so far: a product with a block (of at least one column) is one, for
  /// any width; a column 1/n, a row 1/m, the diagonal 1/max(m, n).
  double passes() const;
  /// Multiplications of all products, columns, rows and diagonals so far, by cost().
  double multiplications() const;
  const LinearOperator& inner() const { return A_; }
  const LinearOperator& underlying() const override { return A_.underlying(); }
  /// Counts columns that were taken from inner() directly.
  void add_columns(Index count) const { columns_ += count; }

  Index rows() const override { return A_.rows(); }
  Index cols() const override { return A_.cols(); }
  Vector diagonal() const override;
  Cost cost() const override { return A_.cost(); }
  KnownFacts known_facts() const override { return A_.known_facts(); }
  std::string description() const override { return A_.description(); }
  const std::shared_ptr<const MemorySpace>& memory_space() const override {
    return A_.memory_space();
  }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  void do_apply_in_place(bool transposed,
                         const ConstMultiVectorView& X,
                         const MultiVectorView& Y) const override;

  const LinearOperator& A_;
  mutable std::atomic<Index> products_{0};
  mutable std::atomic<Index> product_columns_{0};
  mutable std::atomic<Index> columns_{0};
  mutable std::atomic<Index> rows_{0};
  mutable std::atomic<Index> diagonals_{0};
};

/// Returns A if it counts its products; else null.
const CountedOperator* counter_of(const LinearOperator& A);

}  // namespace matapprox
