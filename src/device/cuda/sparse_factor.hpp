#pragma once

#include <memory>

#include "device/cuda/gpu_factor.hpp"
#include "device/cuda/host_factors.hpp"
#include "device/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {

/// Creates a factor whose products use cuSPARSE. Copies the numbers to the GPU; the queue must
/// outlive it. Throws DeviceError, and NotAvailable if the library is missing.
std::unique_ptr<GpuFactor> make_sparse_factor(const DeviceQueue& queue,
                                              const HostSparsePair& factor);

}  // namespace matapprox::cuda
