#pragma once

#include <memory>

#include "backends/cuda/factor_chain.hpp"
#include "backends/cuda/kernels/device_queue.hpp"

namespace matapprox::cuda {

// Factors whose products are those of NVIDIA's libraries. Both copy the numbers to the card; the
// queue must outlive them. Both throw DeviceError, and NotAvailable if a library is missing.
std::unique_ptr<CardFactor> make_dense_factor(const DeviceQueue& queue, const HostDense& factor);
std::unique_ptr<CardFactor> make_sparse_factor(const DeviceQueue& queue,
                                               const HostSparsePair& factor);

}  // namespace matapprox::cuda
