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

}  // namespace matapprox::cuda
