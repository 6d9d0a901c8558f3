#pragma once

#include "device/cuda/kernels/multi_vector.hpp"

namespace matapprox::cuda {

/// MemorySpace as raw numbers: blocks are addresses of the GPU, column-major without gaps; small
/// matrices are on the host, column-major without gaps. Any thread; all functions throw
/// NotAvailable if the GPU fails or is full.
class GpuBlocks {
 public:
  virtual ~GpuBlocks() = default;
  GpuBlocks(const GpuBlocks&) = delete;
  GpuBlocks(GpuBlocks&&) = delete;
  GpuBlocks& operator=(const GpuBlocks&) = delete;
  GpuBlocks& operator=(GpuBlocks&&) = delete;

  virtual double* allocate(Index count) const = 0;
  virtual void release(double* numbers) const noexcept = 0;
  virtual void write(const double* host, Index count, double* to) const = 0;
  virtual void read(const double* from, Index count, double* host) const = 0;
  virtual void copy(const double* from, Index count, double* to) const = 0;
  virtual void zero(double* numbers, Index count) const = 0;
  /// out = A^T B, a x b
  virtual void transpose_product(
      Index n, const double* A, Index a, const double* B, Index b, double* out) const = 0;
  /// Y = alpha A S + beta Y, S a x b
  virtual void add_product(Index n,
                           double alpha,
                           const double* A,
                           Index a,
                           const double* S,
                           Index b,
                           double beta,
                           double* Y) const = 0;
  /// out[c] = |A(:, c)|^2
  virtual void column_squares(Index n, const double* A, Index a, double* out) const = 0;
  virtual double largest(const double* numbers, Index count) const = 0;
  virtual void scale(double* numbers, Index count, double factor) const = 0;
  virtual void adam(const AdamStep& step,
                    const double* gradient,
                    Index count,
                    double* mean,
                    double* square,
                    double* x) const = 0;

 protected:
  GpuBlocks() = default;
};

}  // namespace matapprox::cuda
