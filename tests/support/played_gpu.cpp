#include "support/played_gpu.hpp"

#include <algorithm>
#include <utility>

#include "device/cuda/gpu_chord_objective.hpp"
#include "device/cuda/gpu_operator.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/core/error.hpp"

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

namespace {

class Calls {
 public:
  explicit Calls(Index left) : left_(left) {}
  void take() {
    if (left_ == 0) throw NotAvailable("the GPU is lost");
    --left_;
  }

 private:
  Index left_;
};

class FailingSpace final : public AdamSpace {
 public:
  FailingSpace(std::shared_ptr<const MemorySpace> inner, std::shared_ptr<Calls> calls)
      : inner_(std::move(inner)), calls_(std::move(calls)) {}

  bool on_host() const override { return false; }
  double* allocate(Index rows, Index cols) const override { return sound().allocate(rows, cols); }
  void release(double* numbers) const noexcept override { inner_->release(numbers); }
  void write(const double* host, Index count, double* to) const override {
    sound().write(host, count, to);
  }
  void read(const double* from, Index count, double* host) const override {
    sound().read(from, count, host);
  }
  void copy(const double* from, Index count, double* to) const override {
    sound().copy(from, count, to);
  }
  void zero(double* numbers, Index count) const override { sound().zero(numbers, count); }
  void fill_normal(std::uint64_t seed,
                   RandomStream stream,
                   Index first_column,
                   Index n,
                   Index a,
                   double* X) const override {
    sound().fill_normal(seed, stream, first_column, n, a, X);
  }
  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override {
    return sound().transpose_product(n, A, a, B, b);
  }
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override {
    sound().add_product(n, alpha, A, a, S, beta, Y);
  }
  Vector column_norms(Index n, const double* A, Index a) const override {
    return sound().column_norms(n, A, a);
  }
  double largest(const double* numbers, Index count) const override {
    return sound().largest(numbers, count);
  }
  void scale(double* numbers, Index count, double factor) const override {
    sound().scale(numbers, count, factor);
  }
  void adam_step(const kernels::AdamStep& step,
                 const double* gradient,
                 Index count,
                 double* mean,
                 double* square,
                 double* x) const override {
    dynamic_cast<const AdamSpace&>(sound()).adam_step(step, gradient, count, mean, square, x);
  }

 private:
  const MemorySpace& sound() const {
    calls_->take();
    return *inner_;
  }

  std::shared_ptr<const MemorySpace> inner_;
  std::shared_ptr<Calls> calls_;
};

class FailingObjective final : public DeviceChordObjective {
 public:
  FailingObjective(std::unique_ptr<DeviceChordObjective> inner, Index calls)
      : inner_(std::move(inner)),
        calls_(std::make_shared<Calls>(calls)),
        space_(std::make_shared<FailingSpace>(inner_->space(), calls_)) {}
  const std::shared_ptr<const MemorySpace>& space() const override { return space_; }
  double evaluate(std::span<const Index> J, const double* values, double* gradient) override {
    calls_->take();
    return inner_->evaluate(J, values, gradient);
  }

 private:
  std::unique_ptr<DeviceChordObjective> inner_;
  std::shared_ptr<Calls> calls_;
  std::shared_ptr<const MemorySpace> space_;
};

}  // namespace

ChordObjectiveMaker failing_gpu(Index calls) {
  return [calls](const ChordPattern& pattern, Index max_columns, const ChordTarget& target) {
    return std::make_unique<FailingObjective>(host_gpu_objective(pattern, max_columns, target),
                                              calls);
  };
}

}  // namespace matapprox::test
