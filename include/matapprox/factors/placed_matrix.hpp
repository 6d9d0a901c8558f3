#pragma once

#include <memory>
#include <span>
#include <utility>

#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// A dense factor F, n x k, whose numbers stay in the memory space where they were computed, with
/// its rows distributed over several processes: no process holds all of F. Copies share the n k
/// doubles. Every function that reads them throws NotAvailable once that memory space no longer
/// exists.
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

  /// Return F X (X: k x b) and F^T X (X: n x b), on the host, for blocks on the host. Cost: n k b
  /// multiplications in the memory space, and one transfer of an n x b block.
  Matrix apply(const ConstBlock& X) const;
  Matrix apply_transpose(const ConstBlock& X) const;
  /// Return F(:, J), n x |J|, and F(J, :)^T, k x |J|, on the host. Only the requested numbers are
  /// read, one index at a time. The indices must be in range.
  Matrix columns_at(std::span<const Index> J) const;
  Matrix rows_at(std::span<const Index> J) const;
  /// Returns rows first .. first + count - 1, count x k, on the host.
  Matrix middle_rows(Index first, Index count) const;

 private:
  std::shared_ptr<const MultiVector> numbers_;
};

}  // namespace matapprox
