#pragma once

#include <memory>

#include "device/cuda/gpu_blocks.hpp"
#include "matapprox/core/multi_vector.hpp"

namespace matapprox {

/// The memory of a GPU as a place for blocks.
std::shared_ptr<const MemorySpace> make_gpu_space(std::shared_ptr<const cuda::GpuBlocks> blocks);

}  // namespace matapprox
