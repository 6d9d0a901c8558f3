#pragma once

#include <cuda_runtime.h>

#include "check.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) run_kernel(const Kernel kernel) {
  const Place place{static_cast<Index>(blockIdx.x), static_cast<int>(threadIdx.x)};
  if constexpr (PhasedKernel<Kernel>) {
    __shared__ typename Kernel::Shared shared;
    typename Kernel::Local local;
    kernel.begin(place, local);
    const int steps = kernel.steps(place);
    for (int s = 0; s < steps; ++s) {
      kernel.fill(place, s, shared, local);
      __syncthreads();
      kernel.use(place, s, shared, local);
      __syncthreads();
    }
    kernel.end(place, local);
  } else {
    kernel(place);
  }
}

/// Starts the kernel on the stream; returns at once. Throws DeviceError.
template <class Kernel>
void launch(const Kernel& kernel, cudaStream_t stream) {
  const Index blocks = kernel.blocks();
  if (blocks == 0) return;
  run_kernel<<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, stream>>>(kernel);
  check(cudaGetLastError(), "launch of a kernel");
}

}  // namespace matapprox::cuda
