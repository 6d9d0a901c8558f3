#include "device/cuda/gpu_operator.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/device/placement.hpp"

// Built in place of device/cuda where CUDA is left out.
namespace matapprox {

std::string why_no_gpu() {
  return "this build has no CUDA; install the CUDA toolkit and configure it with "
         "-DMATAPPROX_WITH_CUDA=ON";
}

GpuInfo gpu_info() { throw NotAvailable("cuda: " + why_no_gpu()); }

double gpu_copy_bandwidth() { throw NotAvailable("cuda: " + why_no_gpu()); }

namespace cuda {

std::unique_ptr<GpuOperator> make_gpu_operator(const std::vector<DeviceFactor>& /*links*/,
                                               bool /*symmetrized*/) {
  throw NotAvailable("cuda: " + why_no_gpu());
}

}  // namespace cuda
}  // namespace matapprox
