#pragma once

#include <mutex>

#include "device/cuda/gpu_errors.hpp"
#include "device/cuda/kernels/device_queue.hpp"
#include "device/cuda/queue_blocks.hpp"

namespace matapprox::cuda {

/// One thread at a time; errors of the GPU as NotAvailable.
class OneOnGpu {
 public:
  template <class Body>
  void operator()(const Body& body) const {
    const std::lock_guard lock(mutex_);
    on_gpu("a matrix on the GPU", body);
  }

 private:
  mutable std::mutex mutex_;
};

using DeviceBlocks = QueueBlocks<DeviceQueue, OneOnGpu>;

}  // namespace matapprox::cuda
