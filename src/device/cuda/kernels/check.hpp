#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace matapprox::cuda {

/// A call of the CUDA runtime or its libraries failed; what() has the call and CUDA's words.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, cudaError_t error)
      : std::runtime_error("CUDA: " + what + ": " + cudaGetErrorString(error)), error_(error) {}
  cudaError_t error() const { return error_; }
  bool out_of_memory() const { return error_ == cudaErrorMemoryAllocation; }

 private:
  cudaError_t error_;
};

/// Throws DeviceError unless `error` is cudaSuccess. An error that the runtime would report again
/// at the next call (out of memory, a wrong launch) is taken from it.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  throw DeviceError(what, error);
}

}  // namespace matapprox::cuda
