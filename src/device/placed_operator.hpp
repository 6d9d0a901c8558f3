#pragma once

#include <memory>

#include "device/partial_cholesky.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/operators/lazy.hpp"

namespace matapprox {

/// An operator whose products are computed on the GPU. It takes its properties from the operator
/// that it was made from, its source. Columns and rows of stored matrices are gathered on the host;
/// those of a kernel matrix are computed on the GPU.
class PlacedOperator : public LinearOperator {
 public:
  const LinearOperator& underlying() const override { return source_->underlying(); }
  Index rows() const override { return source_->rows(); }
  Index cols() const override { return source_->cols(); }
  Vector diagonal() const override { return source_->diagonal(); }
  Cost cost() const override { return source_->cost(); }
  KnownFacts known_facts() const override { return source_->known_facts(); }
  std::string description() const override;

  /// Creates a factorization of a kernel matrix, with memory for `max_columns` columns; returns
  /// null for other matrices. `counter`, unless null, counts the columns that are computed. This
  /// operator must outlive it. Throws NotAvailable if the GPU has no room.
  virtual std::unique_ptr<PartialCholesky> cholesky(Index max_columns,
                                                    const CountedOperator* counter) const = 0;

 protected:
  explicit PlacedOperator(std::shared_ptr<const LinearOperator> source)
      : source_(std::move(source)) {}
  bool is_kernel() const;

 private:
  /// Computes Y = A(:, J) of a kernel matrix on the GPU.
  virtual void kernel_columns(std::span<const Index> J, Block Y) const = 0;
  void do_columns_at(std::span<const Index> J, Block Y) const final;
  void do_rows_at(std::span<const Index> I, Block Y) const final;

  std::shared_ptr<const LinearOperator> source_;
};

/// Places A, which must satisfy is_placeable, on the GPU; Chord factors as described for
/// gpu_factors. Throws NotAvailable if there is no GPU or no room.
std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> A,
                                                  Index gpu_free_bytes);

}  // namespace matapprox
