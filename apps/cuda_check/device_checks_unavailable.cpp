#include "device_checks.hpp"

namespace matapprox::cuda {

std::string run_device_checks(Results& /*results*/) {
  return "this build has no CUDA (no nvcc was found, or -DMATAPPROX_WITH_CUDA=OFF)";
}

}  // namespace matapprox::cuda
