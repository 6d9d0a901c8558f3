#include "device/chord_objective.hpp"
#include "device/placed_operator.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/device/placement.hpp"

// Built in place of device/cuda if CUDA is disabled.
namespace matapprox {

std::string why_no_gpu() {
  return "this build has no CUDA; install the CUDA toolkit and configure it with "
         "-DMATAPPROX_WITH_CUDA=ON";
}

GpuInfo gpu_info() { throw NotAvailable("cuda: " + why_no_gpu()); }

double gpu_copy_bandwidth() { throw NotAvailable("cuda: " + why_no_gpu()); }

// NOLINTNEXTLINE(performance-unnecessary-value-param): the function with CUDA keeps the operator
std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> /*A*/,
                                                  Index /*gpu_free_bytes*/) {
  throw NotAvailable("cuda: " + why_no_gpu());
}

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& /*pattern*/,
                                                                  Index /*max_columns*/,
                                                                  const ChordTarget& /*target*/) {
  throw NotAvailable(
      "chord: this build cannot use a GPU; it needs nvcc of the CUDA toolkit, 12 or newer, and "
      "-DMATAPPROX_WITH_CUDA=ON");
}

}  // namespace matapprox
