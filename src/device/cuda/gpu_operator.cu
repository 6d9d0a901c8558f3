#include "device/cuda/device_blocks.hpp"
#include "device/cuda/gpu_factors.hpp"
#include "device/cuda/gpu_operator.hpp"
#include "device/cuda/kernel_factors.hpp"
#include "device/cuda/tall_cholesky.hpp"

namespace matapprox::cuda {
namespace {

struct GpuFactorMaker {
  const DeviceQueue& queue;
  std::shared_ptr<const GpuFactor> operator()(const HostDense& f) const {
    return std::make_shared<DenseFactor<DeviceQueue>>(queue, f);
  }
  std::shared_ptr<const GpuFactor> operator()(const HostSparsePair& f) const {
    return make_sparse_factor(queue, f);
  }
  std::shared_ptr<const GpuFactor> operator()(const HostDiagonal& f) const {
    return std::make_shared<DiagonalFactor<DeviceQueue>>(queue, f);
  }
  std::shared_ptr<const GpuFactor> operator()(const HostPermutation& f) const {
    return std::make_shared<PermutationFactor<DeviceQueue>>(queue, f);
  }
  std::shared_ptr<const GpuFactor> operator()(const HostChord& f) const {
    return make_chord_factor(queue, f);
  }
  std::shared_ptr<const GpuFactor> operator()(const HostKernel& f) const {
    return std::make_shared<KernelFactor<DeviceQueue>>(queue, f);
  }
};

/// Numbers that fit into four fifths of the memory that is free.
Index free_numbers() { return device_memory().free / 5 * 4 / Index{sizeof(double)}; }

/// Has the blocks' queue to itself in each call, as the operator has.
class GpuTallCholesky final : public GpuCholesky {
 public:
  GpuTallCholesky(const DeviceBlocks& blocks, const GpuFactor& kernel, Index most)
      : guarded_(blocks.guarded()), tall_(blocks.queue(), kernel, most) {}

  Index kept() const override { return tall_.kept(); }
  void propose(std::span<const Index> S, double* own) override {
    guarded_([&] { tall_.propose(S, own); });
  }
  void factor_rows(std::span<const Index> S, double* out) const override {
    guarded_([&] { tall_.factor_rows(S, out); });
  }
  void accept(std::span<const Index> positions,
              const double* F_T,
              const double* M,
              double* squares) override {
    guarded_([&] { tall_.accept(positions, F_T, M, squares); });
  }
  void download_columns(double* out) const override {
    guarded_([&] { tall_.download_columns(out); });
  }

 private:
  const OneOnGpu& guarded_;
  TallCholesky<DeviceQueue> tall_;
};

class GpuChain final : public GpuOperator {
 public:
  GpuChain(const std::vector<DeviceFactor>& links, bool symmetrized)
      : chain_(queue(), placed_factors(links, GpuFactorMaker{queue()}), symmetrized) {
    queue().wait();
  }

  std::shared_ptr<const GpuBlocks> blocks() const override { return blocks_; }

  void apply(bool transposed,
             Index columns,
             const double* x,
             Index x_stride,
             double* y,
             Index y_stride) const override {
    guarded([&] { chain_.apply(transposed, columns, x, x_stride, y, y_stride, free_numbers()); });
  }
  void apply_in_place(bool transposed, Index columns, const double* x, double* y) const override {
    guarded([&] { chain_.apply_in_place(transposed, columns, x, y, free_numbers()); });
  }
  void kernel_columns(std::span<const Index> J, double* y, Index y_stride) const override {
    guarded([&] { chain_.kernel_columns(J, y, y_stride, free_numbers()); });
  }

  std::unique_ptr<GpuCholesky> kernel_cholesky(Index most) const override {
    std::unique_ptr<GpuCholesky> made;
    guarded([&] { made = std::make_unique<GpuTallCholesky>(*blocks_, chain_.front(), most); });
    return made;
  }

 private:
  const DeviceQueue& queue() const { return blocks_->queue(); }
  template <class Body>
  void guarded(const Body& body) const {
    blocks_->guarded()(body);
  }

  std::shared_ptr<const DeviceBlocks> blocks_ = std::make_shared<DeviceBlocks>();
  FactorChain<DeviceQueue> chain_;
};

}  // namespace

std::unique_ptr<GpuOperator> make_gpu_operator(const std::vector<DeviceFactor>& links,
                                               bool symmetrized) {
  std::unique_ptr<GpuOperator> made;
  on_gpu("a matrix on the GPU", [&] { made = std::make_unique<GpuChain>(links, symmetrized); });
  return made;
}

}  // namespace matapprox::cuda
