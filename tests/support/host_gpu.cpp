#include "support/host_gpu.hpp"

#include <algorithm>

#include "device/cuda/kernel_factors.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "device/cuda/queue_blocks.hpp"
#include "device/cuda/queue_chord_fit.hpp"
#include "device/cuda/tall_cholesky.hpp"
#include "device/gpu_chord_objective.hpp"
#include "device/gpu_factors.hpp"
#include "device/gpu_space.hpp"
#include "device/placed_operator.hpp"

namespace matapprox::test {
namespace {

using cuda::HostQueue;

/// Rows of the matrix, or of what was given as its transpose, as the GPU's library takes them.
class HostSparseFactor final : public cuda::GpuFactor {
 public:
  explicit HostSparseFactor(const cuda::HostSparsePair& factor)
      : matrix_(copy(factor.matrix)),
        transposed_(factor.transposed.row_starts == nullptr ? matrix_ : copy(factor.transposed)) {}
  Index rows() const override { return matrix_.rows(); }
  Index cols() const override { return matrix_.cols(); }
  double* multiply(double* x, double* y, Index columns, bool transposed) const override {
    const SparseMatrix& F = transposed ? transposed_ : matrix_;
    std::fill_n(y, F.rows() * columns, 0.0);
    for (Index i = 0; i < F.rows(); ++i) {
      for (SparseMatrix::InnerIterator entry(F, i); entry; ++entry) {
        for (Index c = 0; c < columns; ++c)
          y[i * columns + c] += entry.value() * x[entry.col() * columns + c];
      }
    }
    return y;
  }

 private:
  static SparseMatrix copy(const cuda::HostSparse& F) {
    return Eigen::Map<const SparseMatrix>(
        F.rows, F.cols, F.stored(), F.row_starts, F.columns, F.values);
  }
  SparseMatrix matrix_;
  SparseMatrix transposed_;
};

struct HostFactorMaker {
  const HostQueue& queue;
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostDense& f) const {
    return std::make_shared<cuda::DenseFactor<HostQueue>>(queue, f);
  }
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostSparsePair& f) const {
    return std::make_shared<HostSparseFactor>(f);
  }
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostDiagonal& f) const {
    return std::make_shared<cuda::DiagonalFactor<HostQueue>>(queue, f);
  }
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostPermutation& f) const {
    return std::make_shared<cuda::PermutationFactor<HostQueue>>(queue, f);
  }
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostChord& f) const {
    return cuda::make_chord_factor(queue, f);
  }
  std::shared_ptr<const cuda::GpuFactor> operator()(const cuda::HostKernel& f) const {
    return std::make_shared<cuda::KernelFactor<HostQueue>>(queue, f);
  }
};

class HostTallCholesky final : public cuda::GpuCholesky {
 public:
  HostTallCholesky(const HostQueue& queue, const cuda::GpuFactor& kernel, Index most)
      : tall_(queue, kernel, most) {}
  Index kept() const override { return tall_.kept(); }
  void propose(std::span<const Index> S, double* own) override { tall_.propose(S, own); }
  void factor_rows(std::span<const Index> S, double* out) const override {
    tall_.factor_rows(S, out);
  }
  void accept(std::span<const Index> positions,
              const double* F_T,
              const double* M,
              double* squares) override {
    tall_.accept(positions, F_T, M, squares);
  }
  void download_columns(double* out) const override { tall_.download_columns(out); }

 private:
  cuda::TallCholesky<HostQueue> tall_;
};

/// The host never fails.
struct Unguarded {
  template <class Body>
  void operator()(const Body& body) const {
    body();
  }
};
using HostBlocks = cuda::QueueBlocks<HostQueue, Unguarded>;

class HostGpu final : public cuda::GpuOperator {
 public:
  HostGpu(const GpuFactors& links, cuda::HostOrder order, Index room)
      : blocks_(std::make_shared<HostBlocks>(order)),
        chain_(queue(),
               cuda::placed_factors(links.links, HostFactorMaker{queue()}),
               links.symmetrized),
        room_(room) {}

  std::shared_ptr<const cuda::GpuBlocks> blocks() const override { return blocks_; }
  void apply_in_place(bool transposed, Index columns, const double* x, double* y) const override {
    chain_.apply_in_place(transposed, columns, x, y, room_);
  }

  void apply(bool transposed,
             Index columns,
             const double* x,
             Index x_stride,
             double* y,
             Index y_stride) const override {
    chain_.apply(transposed, columns, x, x_stride, y, y_stride, room_);
  }
  void kernel_columns(std::span<const Index> J, double* y, Index y_stride) const override {
    chain_.kernel_columns(J, y, y_stride, room_);
  }
  std::unique_ptr<cuda::GpuCholesky> kernel_cholesky(Index most) const override {
    return std::make_unique<HostTallCholesky>(queue(), chain_.front(), most);
  }

 private:
  const HostQueue& queue() const { return blocks_->queue(); }

  std::shared_ptr<const HostBlocks> blocks_;
  cuda::FactorChain<HostQueue> chain_;
  Index room_;
};

}  // namespace

std::shared_ptr<const LinearOperator> placed_on_host(std::shared_ptr<const LinearOperator> A,
                                                     cuda::HostOrder order,
                                                     Index room,
                                                     Index free_bytes) {
  auto gpu = std::make_unique<HostGpu>(gpu_factors(*A, free_bytes), order, room);
  return std::make_shared<PlacedOperator>(std::move(A), std::move(gpu));
}

std::shared_ptr<const MemorySpace> host_gpu_space(cuda::HostOrder order) {
  return make_gpu_space(std::make_shared<HostBlocks>(order));
}

std::unique_ptr<DeviceChordObjective> host_gpu_objective(const ChordPattern& pattern,
                                                         Index most_columns,
                                                         const ChordTarget& target,
                                                         cuda::HostOrder order,
                                                         Index free) {
  using Fit = cuda::QueueChordFit<HostQueue, Unguarded>;
  const GpuChordTarget on_gpu = gpu_chord_target(target);
  return make_gpu_chord_objective(std::make_unique<Fit>(std::make_shared<const HostBlocks>(order),
                                                        gpu_shape(pattern, target.symmetrized),
                                                        most_columns,
                                                        on_gpu.source,
                                                        free),
                                  on_gpu.counter);
}

}  // namespace matapprox::test
