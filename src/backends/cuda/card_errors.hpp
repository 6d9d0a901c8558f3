#pragma once

#include <string>

#include "backends/cuda/kernels/check.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::cuda {

/// Runs body(); an error of the card becomes NotAvailable, in words for who uses the program.
template <class Body>
void as_not_available(const Body& body) {
  try {
    body();
  } catch (const DeviceError& error) {
    std::string text = error.what();
    if (error.out_of_memory())
      text += "; the card has no room for it, --device cpu takes none there";
    if (error.error() == cudaErrorNoKernelImageForDevice)
      text += "; configure the build with -DCMAKE_CUDA_ARCHITECTURES for this card";
    throw NotAvailable(text);
  }
}

}  // namespace matapprox::cuda
