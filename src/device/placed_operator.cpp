#include "device/placed_operator.hpp"

#include "matapprox/factors/factor_product.hpp"
#include "matapprox/operators/kernel.hpp"

namespace matapprox {
namespace {

Matrix unit_block(Index n, std::span<const Index> J) {
  Matrix units = Matrix::Zero(n, static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size(); ++c) units(J[c], static_cast<Index>(c)) = 1.0;
  return units;
}

bool is_product(const LinearOperator& A) {
  return dynamic_cast<const FactorProduct*>(&A) != nullptr;
}

}  // namespace

std::string PlacedOperator::description() const { return source_->description() + ", on the GPU"; }

bool PlacedOperator::is_kernel() const {
  return dynamic_cast<const KernelOperator*>(source_.get()) != nullptr;
}

void PlacedOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  if (is_kernel()) {
    kernel_columns(J, Y);
  } else if (is_product(*source_)) {
    apply(unit_block(cols(), J), Y);
  } else {
    source_->columns_at(J, Y);
  }
}

void PlacedOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  if (is_kernel()) {
    kernel_columns(I, Y);
  } else if (is_product(*source_)) {
    apply_transpose(unit_block(rows(), I), Y);
  } else {
    source_->rows_at(I, Y);
  }
}

std::unique_ptr<PartialCholesky> make_gpu_cholesky(const LinearOperator& A, Index max_columns) {
  const auto* counter = dynamic_cast<const CountedOperator*>(&A);
  const auto* placed =
      dynamic_cast<const PlacedOperator*>(counter == nullptr ? &A : &counter->inner());
  return placed == nullptr ? nullptr : placed->cholesky(max_columns, counter);
}

}  // namespace matapprox
