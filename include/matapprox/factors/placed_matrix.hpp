#pragma once

#include <memory>
#include <span>
#include <utility>

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// A dense factor F, n x k, whose numbers stay in the memory where they came about, by rows over
/// several processes: nobody holds all of it. Copies share the n k doubles. Throws NotAvailable, in
/// every function that reads them, once that memory is gone.
class PlacedMatrix {
 public:
  explicit PlacedMatrix(MultiVector numbers)
      : numbers_(std::make_shared<const MultiVector>(std::move(numbers))) {}
  explicit PlacedMatrix(std::shared_ptr<const MultiVector> numbers)
      : numbers_(std::move(numbers)) {}

  Index rows() const { return numbers_->rows(); }
  Index cols() const { return numbers_->cols(); }
  Index size() const { return numbers_->size(); }
  const std::shared_ptr<const MemorySpace>& space() const { return numbers_->space(); }
  ConstMultiVectorView numbers() const { return numbers_->columns(); }

  /// F X (X: k x b) and F^T X (X: n x b) for blocks on the host, where the result is. Cost: n k b
  /// multiplications there, and an n x b block that goes there or comes from there.
  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  /// F(:, J), n x |J|, and F(J, :)^T, k x |J|, on the host: what is asked for is read, an index at
  /// a time. The indices must be in range.
  Matrix columns_at(std::span<const Index> J) const;
  Matrix rows_at(std::span<const Index> J) const;
  /// Rows first .. first + count - 1, count x k, on the host.
  Matrix middle_rows(Index first, Index count) const;

 private:
  std::shared_ptr<const MultiVector> numbers_;
};

}  // namespace matapprox
