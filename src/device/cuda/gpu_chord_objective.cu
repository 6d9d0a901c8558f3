#include "device/cuda/cuda_gpu.hpp"
#include "device/cuda/gpu_chord_objective.hpp"

namespace matapprox {

std::unique_ptr<DeviceChordObjective> make_device_chord_objective(const ChordPattern& pattern,
                                                                  Index max_columns,
                                                                  const ChordTarget& target) {
  constexpr const char* kWho = "chord: the fit";
  return cuda::on_gpu(kWho, [&] {
    return std::make_unique<cuda::GpuChordObjective<cuda::CudaGpu>>(
        std::make_shared<const cuda::GpuSpace<cuda::CudaGpu>>(kWho), pattern, max_columns, target);
  });
}

}  // namespace matapprox
