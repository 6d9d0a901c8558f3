#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Aligned memory that grows and is kept: one per thread and purpose, so that small products do not
/// pay for an allocation. The content is not kept when it grows.
class Scratch {
 public:
  double* reserve(Index count) {
    if (count > size_) {
      memory_ = hwy::AllocateAligned<double>(static_cast<std::size_t>(count));
      size_ = count;
    }
    return memory_.get();
  }

 private:
  hwy::AlignedFreeUniquePtr<double[]> memory_;
  Index size_ = 0;
};

}  // namespace matapprox::kernels
