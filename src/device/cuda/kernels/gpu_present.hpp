#pragma once

#include <string>

#include "check.hpp"

namespace matapprox::cuda {

/// Returns the reason why there is no GPU: no driver, or the driver shows none; empty if there is
/// one. Throws DeviceError if the driver cannot be used: that is a fault, not a missing GPU.
inline std::string why_there_is_no_gpu() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "this machine has no NVIDIA driver";
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    cudaGetLastError();
    return "the NVIDIA driver shows no GPU";
  }
  check(error, "search for a GPU");
  return {};
}

}  // namespace matapprox::cuda
