#include "support/host_gpu.hpp"

#include <algorithm>

#include "device/cuda/gpu_chord_objective.hpp"
#include "device/cuda/gpu_operator.hpp"
#include "device/cuda/kernels/host_queue.hpp"

namespace matapprox::test {
namespace {

using cuda::HostQueue;

/// A sparse matrix and its transpose (the matrix itself if none is given), stored by rows as the
/// GPU's library requires.
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

/// The Gpu parameter of GpuSpace, implemented on the host: it never fails, and its callers
/// synchronize their threads.
class HostGpu {
 public:
  using Queue = HostQueue;

  HostGpu(cuda::HostOrder order, Index free_bytes) : queue_(order), free_bytes_(free_bytes) {}

  const HostQueue& queue() const { return queue_; }
  template <class Work>
  auto alone(const Work& work) const {
    return work();
  }
  Index free_bytes() const { return free_bytes_; }
  std::shared_ptr<const cuda::GpuFactor> sparse_factor(const cuda::HostSparsePair& factor) const {
    return std::make_shared<HostSparseFactor>(factor);
  }

 private:
  HostQueue queue_;
  Index free_bytes_;
};
using HostGpuSpace = cuda::GpuSpace<HostGpu>;

}  // namespace

std::shared_ptr<const LinearOperator> placed_on_host(std::shared_ptr<const LinearOperator> A,
                                                     cuda::HostOrder order,
                                                     Index room,
                                                     Index free_bytes) {
  const GpuFactors factors = gpu_factors(*A, free_bytes);
  // Four fifths of these bytes hold `room` numbers.
  const Index bytes = 10 * room;
  return std::make_shared<cuda::GpuOperator<HostGpu>>(
      std::move(A), factors, std::make_shared<const HostGpuSpace>(order, bytes));
}

std::shared_ptr<const MemorySpace> host_gpu_space(cuda::HostOrder order) {
  return std::make_shared<const HostGpuSpace>(order, 0);
}

std::unique_ptr<DeviceChordObjective> host_gpu_objective(const ChordPattern& pattern,
                                                         Index max_columns,
                                                         const ChordTarget& target,
                                                         cuda::HostOrder order,
                                                         Index free) {
  return std::make_unique<cuda::GpuChordObjective<HostGpu>>(
      std::make_shared<const HostGpuSpace>(order, free), pattern, max_columns, target);
}

}  // namespace matapprox::test
