#pragma once

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/cuda/gpu_blocks.hpp"
#include "device/cuda/kernels/tall_product.hpp"

namespace matapprox::cuda {

/// Blocks in the memory of a queue that it owns. Guard()(body) runs a body with the queue to itself
/// and translates errors.
template <class Queue, class Guard>
class QueueBlocks final : public GpuBlocks {
 public:
  template <class... QueueArguments>
  explicit QueueBlocks(QueueArguments... arguments)
      : queue_(arguments...), scratch_(queue_), small_(queue_) {}

  const Queue& queue() const { return queue_; }
  const Guard& guarded() const { return guarded_; }

  double* allocate(Index count) const override {
    double* numbers = nullptr;
    guarded_([&] {
      auto array = queue_.template array<double>(std::max<Index>(count, 1));
      numbers = array.data();
      arrays_.emplace(numbers, std::move(array));
    });
    return numbers;
  }
  void release(double* numbers) const noexcept override {
    guarded_([&] { arrays_.erase(numbers); });
  }
  void write(const double* host, Index count, double* to) const override {
    guarded_([&] {
      queue_.upload(host, count, to);
      queue_.wait();
    });
  }
  void read(const double* from, Index count, double* host) const override {
    guarded_([&] { queue_.download(from, count, host); });
  }
  void copy(const double* from, Index count, double* to) const override {
    guarded_([&] { queue_.copy(from, count, to); });
  }
  void zero(double* numbers, Index count) const override {
    guarded_([&] { queue_.zero(numbers, count); });
  }

  /// Row-major, B^T and A^T are what is stored, and (A^T B)^T = B^T A.
  void transpose_product(
      Index n, const double* A, Index a, const double* B, Index b, double* out) const override {
    if (a == 0 || b == 0) return;
    guarded_([&] {
      double* result = small_.take(a * b);
      tall_product(scratch_, product_nt(b, a, n, B, n, A, n, result, a));
      queue_.download(result, a * b, out);
    });
  }

  /// Row-major: Y^T = alpha S^T A^T + beta Y^T.
  void add_product(Index n,
                   double alpha,
                   const double* A,
                   Index a,
                   const double* S,
                   Index b,
                   double beta,
                   double* Y) const override {
    guarded_([&] {
      double* factor = small_.take(a * b);
      queue_.upload(S, a * b, factor);
      Gemm<double> gemm = product(b, n, a, factor, a, A, n, Y, n);
      gemm.alpha = alpha;
      gemm.beta = beta;
      queue_.gemm(gemm);
      queue_.wait();
    });
  }

  void column_squares(Index n, const double* A, Index a, double* out) const override {
    if (a == 0) return;
    guarded_([&] {
      double* sums = small_.take(a);
      row_sums<true>(scratch_, A, a, n, sums);
      queue_.download(sums, a, out);
    });
  }

  double largest(const double* numbers, Index count) const override {
    double result = 0;
    guarded_([&] {
      LargestNumbers kernel{numbers, count};
      std::vector<double> host(static_cast<std::size_t>(kernel.blocks()));
      kernel.parts = small_.take(kernel.blocks());
      queue_.run(kernel);
      queue_.download(kernel.parts, kernel.blocks(), host.data());
      for (const double part : host) {
        if (part > result || std::isnan(part)) result = part;
        if (std::isnan(result)) break;
      }
    });
    return result;
  }

  void scale(double* numbers, Index count, double factor) const override {
    guarded_([&] { queue_.run(ScaleNumbers{factor, numbers, count}); });
  }

  void adam(const AdamStep& step,
            const double* gradient,
            Index count,
            double* mean,
            double* square,
            double* x) const override {
    guarded_([&] { queue_.run(AdamNumbers{step, gradient, count, mean, square, x}); });
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<double>(0));

  Queue queue_;
  Guard guarded_;
  mutable Scratch<double, Queue> scratch_;
  mutable Scratch<double, Queue> small_;
  mutable std::unordered_map<double*, Array> arrays_;
};

}  // namespace matapprox::cuda
