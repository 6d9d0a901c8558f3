#pragma once

#include <cuda_runtime.h>

#include <limits>
#include <string>

#include "check.hpp"
#include "grid.hpp"

namespace matapprox::cuda {

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads) run_kernel(const Kernel kernel) {
  const GridPosition place{static_cast<Index>(blockIdx.x), static_cast<int>(threadIdx.x)};
  if constexpr (PhasedKernel<Kernel>) {
    __shared__ typename Kernel::SharedMemory shared;
    typename Kernel::Registers local;
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

/// Largest number of blocks of a grid.
inline constexpr Index kMaxBlocks = std::numeric_limits<std::int32_t>::max();

/// Starts the kernel on the stream; returns at once. Throws DeviceError, also for more than
/// kMaxBlocks blocks.
template <class Kernel>
void launch(const Kernel& kernel, cudaStream_t stream) {
  const Index blocks = kernel.blocks();
  if (blocks == 0) return;
  if (blocks > kMaxBlocks) {
    throw DeviceError(
        "a kernel of " + std::to_string(blocks) + " blocks, at most " + std::to_string(kMaxBlocks),
        cudaErrorInvalidConfiguration);
  }
  run_kernel<<<static_cast<unsigned>(blocks), Kernel::kThreads, 0, stream>>>(kernel);
  check(cudaGetLastError(), "launch of a kernel");
}

}  // namespace matapprox::cuda
