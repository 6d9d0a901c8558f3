#include "device/placed_operator.hpp"

#include "device/gpu_factors.hpp"
#include "device/gpu_space.hpp"
#include "matapprox/device/placement.hpp"
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

bool is_kernel(const LinearOperator& A) {
  return dynamic_cast<const KernelOperator*>(&A) != nullptr;
}

}  // namespace

PlacedOperator::PlacedOperator(std::shared_ptr<const LinearOperator> source,
                               std::unique_ptr<const cuda::GpuOperator> gpu)
    : source_(std::move(source)), gpu_(std::move(gpu)), place_(make_gpu_space(gpu_->blocks())) {}

std::string PlacedOperator::description() const { return source_->description() + ", on the GPU"; }

void PlacedOperator::do_apply(const ConstBlock& X, Block Y) const {
  gpu_->apply(false, X.cols(), X.data(), X.outerStride(), Y.data(), Y.outerStride());
}

void PlacedOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  gpu_->apply(true, X.cols(), X.data(), X.outerStride(), Y.data(), Y.outerStride());
}

void PlacedOperator::do_apply_in_place(bool transposed,
                                       const ConstTallColumns& X,
                                       const MultiVectorView& Y) const {
  gpu_->apply_in_place(transposed, X.cols, X.data, Y.data);
}

void PlacedOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  if (is_kernel(*source_)) {
    gpu_->kernel_columns(J, Y.data(), Y.outerStride());
  } else if (is_product(*source_)) {
    do_apply(unit_block(cols(), J), Y);
  } else {
    source_->columns_at(J, Y);
  }
}

void PlacedOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  if (is_kernel(*source_)) {
    gpu_->kernel_columns(I, Y.data(), Y.outerStride());
  } else if (is_product(*source_)) {
    do_apply_transpose(unit_block(rows(), I), Y);
  } else {
    source_->rows_at(I, Y);
  }
}

std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> A,
                                                  Index gpu_free_bytes) {
  const GpuFactors links = gpu_factors(*A, gpu_free_bytes);
  auto gpu = cuda::make_gpu_operator(links.links, links.symmetrized);
  return std::make_shared<PlacedOperator>(std::move(A), std::move(gpu));
}

const LinearOperator& unplaced(const LinearOperator& A) {
  const auto* placed = dynamic_cast<const PlacedOperator*>(&A);
  return placed == nullptr ? A : placed->source();
}

}  // namespace matapprox
