#include "all_checks.hpp"
#include "device/cuda/kernels/check.hpp"
#include "device/cuda/kernels/device_queue.hpp"
#include "device_checks.hpp"

namespace matapprox::cuda {

std::string run_device_checks(Results& results) {
  if (const std::string why = why_there_is_no_gpu(); !why.empty()) return why;
  check_all(DeviceQueue(), results);
  return {};
}

}  // namespace matapprox::cuda
