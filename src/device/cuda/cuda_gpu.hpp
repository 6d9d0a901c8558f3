#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "device/cuda/gpu_errors.hpp"
#include "device/cuda/kernels/device_queue.hpp"
#include "device/cuda/sparse_factor.hpp"

namespace matapprox::cuda {

/// The Gpu of GpuSpace for a real GPU: a queue on the current device.
class CudaGpu {
 public:
  using Queue = DeviceQueue;

  /// `who` begins the error messages.
  explicit CudaGpu(std::string who) : who_(std::move(who)) {}

  const DeviceQueue& queue() const { return queue_; }
  template <class Work>
  auto alone(const Work& work) const {
    const std::lock_guard lock(mutex_);
    return on_gpu(who_, work);
  }
  Index free_bytes() const { return device_memory().free; }
  std::shared_ptr<const GpuFactor> sparse_factor(const HostSparsePair& factor) const {
    return make_sparse_factor(queue_, factor);
  }

 private:
  std::string who_;
  DeviceQueue queue_;
  mutable std::mutex mutex_;
};

}  // namespace matapprox::cuda
