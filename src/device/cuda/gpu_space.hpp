#pragma once

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/chord_objective.hpp"
#include "device/cuda/kernels/multi_vector.hpp"
#include "device/cuda/kernels/random.hpp"
#include "device/cuda/kernels/tall_product.hpp"
#include "matapprox/core/multi_vector.hpp"

namespace matapprox::cuda {

/// The memory of a GPU, and one queue that runs all of its work. Gpu is CudaGpu or, in tests, an
/// emulation on the host:
///
///   Gpu::Queue                 see kernels/host_queue.hpp
///   gpu.queue()
///   gpu.alone(work)            work() with exclusive use of the queue; GPU errors as NotAvailable
///   gpu.free_bytes()           free memory
///   gpu.sparse_factor(matrix)  the GpuFactor of a HostSparsePair
template <class Gpu>
class GpuSpace final : public AdamSpace {
 public:
  template <class... GpuArguments>
  explicit GpuSpace(GpuArguments&&... arguments)
      : gpu_(std::forward<GpuArguments>(arguments)...),
        scratch_(gpu_.queue()),
        small_(gpu_.queue()) {}

  const Gpu& gpu() const { return gpu_; }

  bool on_host() const override { return false; }

  double* allocate(Index rows, Index cols) const override {
    return gpu_.alone([&] {
      auto array = queue().template array<double>(std::max<Index>(rows * cols, 1));
      double* numbers = array.data();
      arrays_.emplace(numbers, std::move(array));
      return numbers;
    });
  }
  void release(double* numbers) const noexcept override {
    gpu_.alone([&] { arrays_.erase(numbers); });
  }
  void write(const double* host, Index count, double* to) const override {
    gpu_.alone([&] {
      queue().upload(host, count, to);
      queue().wait();
    });
  }
  void read(const double* from, Index count, double* host) const override {
    gpu_.alone([&] { queue().download(from, count, host); });
  }
  void copy(const double* from, Index count, double* to) const override {
    gpu_.alone([&] { queue().copy(from, count, to); });
  }
  void zero(double* numbers, Index count) const override {
    gpu_.alone([&] { queue().zero(numbers, count); });
  }
  void fill_normal(std::uint64_t seed,
                   RandomStream stream,
                   Index first_column,
                   Index n,
                   Index a,
                   double* X) const override {
    if (n * a == 0) return;
    gpu_.alone([&] {
      queue().run(NormalNumbers{seed, static_cast<std::uint32_t>(stream), first_column, X, n, a});
    });
  }

  /// Read as row-major, the stored blocks are B^T and A^T, and (A^T B)^T = B^T A.
  Matrix transpose_product(
      Index n, const double* A, Index a, const double* B, Index b) const override {
    Matrix result(a, b);
    if (result.size() == 0) return result;
    gpu_.alone([&] {
      double* sums = small_.take(a * b);
      tall_product(scratch_, product_nt(b, a, n, B, n, A, n, sums, a));
      queue().download(sums, a * b, result.data());
    });
    return result;
  }

  /// Read as row-major: Y^T = alpha S^T A^T + beta Y^T.
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const ConstBlock& S,
                   double beta,
                   double* Y) const override {
    const Matrix small = S;
    gpu_.alone([&] {
      double* factor = small_.take(small.size());
      queue().upload(small.data(), small.size(), factor);
      Gemm<double> gemm = product(small.cols(), n, a, factor, a, A, n, Y, n);
      gemm.alpha = alpha;
      gemm.beta = beta;
      queue().gemm(gemm);
      queue().wait();
    });
  }

  Vector column_norms(Index n, const double* A, Index a) const override {
    Vector squares(a);
    if (a == 0) return squares;
    gpu_.alone([&] {
      double* sums = small_.take(a);
      row_sums<true>(scratch_, A, a, n, sums);
      queue().download(sums, a, squares.data());
    });
    return squares.cwiseSqrt();
  }

  double largest(const double* numbers, Index count) const override {
    return gpu_.alone([&] {
      LargestNumbers kernel{numbers, count};
      std::vector<double> host(static_cast<std::size_t>(kernel.blocks()));
      kernel.parts = small_.take(kernel.blocks());
      queue().run(kernel);
      queue().download(kernel.parts, kernel.blocks(), host.data());
      double result = 0;
      for (const double part : host) {
        if (part > result || std::isnan(part)) result = part;
        if (std::isnan(result)) break;
      }
      return result;
    });
  }

  void scale(double* numbers, Index count, double factor) const override {
    gpu_.alone([&] { queue().run(ScaleNumbers{factor, numbers, count}); });
  }

  void adam_step(const kernels::AdamStep& step,
                 const double* gradient,
                 Index count,
                 double* mean,
                 double* square,
                 double* x) const override {
    const AdamStep numbers{
        step.mean_decay, step.square_decay, step.mean_step, step.square_scale, step.epsilon};
    gpu_.alone([&] { queue().run(AdamNumbers{numbers, gradient, count, mean, square, x}); });
  }

 private:
  using Queue = typename Gpu::Queue;
  using Array = decltype(std::declval<const Queue&>().template array<double>(0));

  const Queue& queue() const { return gpu_.queue(); }

  Gpu gpu_;
  mutable Scratch<double, Queue> scratch_;
  mutable Scratch<double, Queue> small_;
  mutable std::unordered_map<double*, Array> arrays_;
};

}  // namespace matapprox::cuda
