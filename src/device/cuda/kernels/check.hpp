#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace matapprox::cuda {

/// Thrown if a call of CUDA or its libraries fails; what() contains the call and CUDA's message.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, cudaError_t error)
      : std::runtime_error("CUDA: " + what + ": " + cudaGetErrorString(error)), error_(error) {}
  cudaError_t error() const { return error_; }
  bool out_of_memory() const { return error_ == cudaErrorMemoryAllocation; }

 private:
  cudaError_t error_;
};

/// Throws DeviceError unless `error` is cudaSuccess. Clears an error that the runtime would report
/// again at the next call (out of memory, an invalid launch).
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(what, error);
}

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
