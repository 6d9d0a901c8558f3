#pragma once

#include <memory>

#include "device/cuda/gpu_operator.hpp"
#include "matapprox/core/linear_operator.hpp"

namespace matapprox {

/// An operator whose products are computed on the GPU. Columns and rows of matrices that are
/// stored are gathered on the host; a kernel matrix makes them on the GPU.
class PlacedOperator final : public LinearOperator {
 public:
  PlacedOperator(std::shared_ptr<const LinearOperator> source,
                 std::unique_ptr<const cuda::GpuOperator> gpu);

  const LinearOperator& source() const { return *source_; }
  const cuda::GpuOperator& gpu() const { return *gpu_; }

  Index rows() const override { return source_->rows(); }
  Index cols() const override { return source_->cols(); }
  Vector diagonal() const override { return source_->diagonal(); }
  Cost cost() const override { return source_->cost(); }
  KnownFacts known_facts() const override { return source_->known_facts(); }
  std::string description() const override;
  const std::shared_ptr<const MemorySpace>& block_place() const override { return place_; }

 private:
  void do_apply(const ConstBlock& X, Block Y) const override;
  void do_apply_transpose(const ConstBlock& X, Block Y) const override;
  void do_columns_at(std::span<const Index> J, Block Y) const override;
  void do_rows_at(std::span<const Index> I, Block Y) const override;
  void do_apply_in_place(bool transposed,
                         const ConstTallColumns& X,
                         const MultiVectorView& Y) const override;

  std::shared_ptr<const LinearOperator> source_;
  std::unique_ptr<const cuda::GpuOperator> gpu_;
  std::shared_ptr<const MemorySpace> place_;
};

/// Puts A, which is_placeable, on the GPU; Chord factors as gpu_factors says. Throws NotAvailable
/// if there is none or no room.
std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> A,
                                                  Index gpu_free_bytes);

}  // namespace matapprox
