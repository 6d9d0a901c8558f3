#pragma once

#include <vector>

#include "device/cuda/kernels/chord_chain.hpp"

namespace matapprox::cuda {

/// What a GPU is measured against: 1/2 |W_1...W_M - X|^2 and its gradient over all columns, by
/// panels of columns on the host with plain loops that a compiler vectorizes. Values and gradient
/// lie link after link, as on the GPU; X is row-major N x N. Panels are shared out to `threads`.
double host_objective(const ChordShape& shape,
                      const std::vector<double>& values,
                      const std::vector<double>& X,
                      int threads,
                      std::vector<double>& gradient);

}  // namespace matapprox::cuda
