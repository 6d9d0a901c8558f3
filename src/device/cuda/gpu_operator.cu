#include "device/cuda/cuda_gpu.hpp"
#include "device/cuda/gpu_operator.hpp"

namespace matapprox {

std::shared_ptr<const LinearOperator> make_placed(std::shared_ptr<const LinearOperator> A,
                                                  Index gpu_free_bytes) {
  constexpr const char* kWho = "a matrix on the GPU";
  const GpuFactors factors = gpu_factors(*A, gpu_free_bytes);
  return cuda::on_gpu(kWho, [&] {
    return std::make_shared<const cuda::GpuOperator<cuda::CudaGpu>>(
        std::move(A), factors, std::make_shared<const cuda::GpuSpace<cuda::CudaGpu>>(kWho));
  });
}

}  // namespace matapprox
