#pragma once

#include <stdexcept>

#include "device/cuda/kernels/grid.hpp"

namespace matapprox::cuda {

/// The numbers of one factor in the memory of a queue. Blocks have no gaps.
class GpuFactor {
 public:
  virtual ~GpuFactor() = default;
  GpuFactor(const GpuFactor&) = delete;
  GpuFactor(GpuFactor&&) = delete;
  GpuFactor& operator=(const GpuFactor&) = delete;
  GpuFactor& operator=(GpuFactor&&) = delete;

  virtual Index rows() const = 0;
  virtual Index cols() const = 0;
  /// True if the blocks of multiply are row-major; false if column-major as on the host.
  virtual bool row_major() const { return true; }
  /// Returns the address of F X or F^T X: x or y, which both have room for it. May overwrite x.
  virtual double* multiply(double* x, double* y, Index columns, bool transposed) const = 0;
  /// Computes out = F(:, J), column-major; J and out are on the device. Only for a kernel matrix.
  virtual void kernel_columns(const Index* /*J*/, Index /*count*/, double* /*out*/) const {
    throw std::logic_error("cuda: columns of a factor that is not a kernel matrix");
  }

 protected:
  GpuFactor() = default;
};

/// Copies `count` numbers of the host into a new array of the queue.
template <class T, class Queue>
auto copied(const Queue& queue, const T* host, Index count) {
  auto array = queue.template array<T>(count);
  if (count > 0) queue.upload(host, count, array.data());
  return array;
}

}  // namespace matapprox::cuda
