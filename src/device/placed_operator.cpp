#include "device/placed_operator.hpp"

#include <variant>

#include "core/unit_columns.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

bool is_product(const LinearOperator& A) {
  return std::holds_alternative<const FactorProduct*>(stored_as(A));
}

}  // namespace

std::string PlacedOperator::description() const { return source_->description() + ", on the GPU"; }

bool PlacedOperator::is_kernel() const { return kernel_matrix(*source_) != nullptr; }

void PlacedOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  if (is_kernel()) {
    kernel_columns(J, Y);
  } else if (is_product(*source_)) {
    apply(unit_columns(cols(), J), Y);
  } else {
    source_->columns_at(J, Y);
  }
}

void PlacedOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  if (is_kernel()) {
    kernel_columns(I, Y);
  } else if (is_product(*source_)) {
    apply_transpose(unit_columns(rows(), I), Y);
  } else {
    source_->rows_at(I, Y);
  }
}

std::unique_ptr<PartialCholesky> make_gpu_cholesky(const LinearOperator& A, Index max_columns) {
  const CountedOperator* counter = counter_of(A);
  const auto* placed =
      dynamic_cast<const PlacedOperator*>(counter == nullptr ? &A : &counter->inner());
  return placed == nullptr ? nullptr : placed->cholesky(max_columns, counter);
}

}  // namespace matapprox
