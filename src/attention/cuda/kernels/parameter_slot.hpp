#pragma once

#include "device/cuda/kernels/grid.hpp"
#include "matapprox/attention/options.hpp"

namespace matapprox::cuda {

using attention::ParameterSlot;

/// Weight and bias of a linear map.
struct LinearSlots {
  ParameterSlot weight;
  ParameterSlot bias;
};

}  // namespace matapprox::cuda
