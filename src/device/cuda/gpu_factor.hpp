#pragma once

#include <stdexcept>

#include "device/cuda/kernels/grid.hpp"

namespace matapprox::cuda {

/// One factor's numbers in the memory of a queue. Blocks have no gaps.
class GpuFactor {
 public:
  virtual ~GpuFactor() = default;
  GpuFactor(const GpuFactor&) = delete;
  GpuFactor(GpuFactor&&) = delete;
  GpuFactor& operator=(const GpuFactor&) = delete;
  GpuFactor& operator=(GpuFactor&&) = delete;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  /// How the blocks of multiply lie: row-major, or column-major as those of the host do.
  virtual bool row_major() const { return true; }
  /// F X or F^T X. May overwrite x, which has room for the result as y has; returns where it is.
  virtual double* multiply(double* x, double* y, Index columns, bool transposed) const = 0;
  /// out = F(:, J), column-major; J and out belong to the queue. Of a kernel matrix alone.
  virtual void kernel_columns(const Index* /*J*/, Index /*count*/, double* /*out*/) const {
    throw std::logic_error("cuda: columns of a factor that is no kernel matrix");
  }

 protected:
  GpuFactor() = default;
};

/// n numbers of the host in an array of the queue.
template <class T, class Queue>
auto copied(const Queue& queue, const T* host, Index count) {
  auto array = queue.template array<T>(count);
  if (count > 0) queue.upload(host, count, array.data());
  return array;
}

}  // namespace matapprox::cuda
