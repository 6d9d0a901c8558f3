#pragma once

#include "device/cuda/kernels/grid.hpp"

namespace matapprox::cuda {

/// Position of a parameter in the block of all parameters: rows x cols numbers, row-major.
struct ParameterSlot {
  Index offset = 0;
  Index rows = 0;
  Index cols = 0;
  Index size() const { return rows * cols; }
};

/// Weight and bias of a linear map.
struct LinearSlots {
  ParameterSlot weight;
  ParameterSlot bias;
};

}  // namespace matapprox::cuda
