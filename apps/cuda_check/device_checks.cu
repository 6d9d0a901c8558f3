#include "all_checks.hpp"
#include "backends/cuda/kernels/device_queue.hpp"
#include "device_checks.hpp"

namespace matapprox::cuda {

std::string run_device_checks(Results& results) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    cudaGetLastError();
    return std::string("no card: ") +
           (error == cudaSuccess ? "the driver finds none" : cudaGetErrorString(error));
  }
  check_all(DeviceQueue(), results);
  return {};
}

}  // namespace matapprox::cuda
