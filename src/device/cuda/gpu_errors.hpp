#pragma once

#include <string>

#include "device/cuda/kernels/check.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox::cuda {

/// Returns work(); an error of the GPU becomes NotAvailable with a message for users. `who` names
/// the part of the program that uses the GPU.
template <class Work>
auto on_gpu(const std::string& who, const Work& work) {
  try {
    return work();
  } catch (const DeviceError& error) {
    std::string text = who + ": " + error.what();
    if (error.out_of_memory()) text += "; the GPU has too little free memory; use --device cpu";
    if (error.error() == cudaErrorNoKernelImageForDevice)
      text += "; configure the build with -DCMAKE_CUDA_ARCHITECTURES for this GPU";
    throw NotAvailable(text);
  }
}

}  // namespace matapprox::cuda
