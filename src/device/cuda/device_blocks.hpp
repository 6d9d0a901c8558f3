#pragma once

#include <mutex>

#include "device/cuda/card_errors.hpp"
#include "device/cuda/kernels/device_queue.hpp"
#include "device/cuda/queue_blocks.hpp"

namespace matapprox::cuda {

/// One thread at a time; errors of the card as NotAvailable.
class OneOnCard {
 public:
  template <class Body>
  void operator()(const Body& body) const {
    const std::lock_guard lock(mutex_);
    on_card("a matrix on the card", body);
  }

 private:
  mutable std::mutex mutex_;
};

using DeviceBlocks = QueueBlocks<DeviceQueue, OneOnCard>;

}  // namespace matapprox::cuda
