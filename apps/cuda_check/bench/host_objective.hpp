#pragma once

#include <vector>

#include "device/cuda/kernels/chord_chain.hpp"

namespace matapprox::cuda {

/// Host reference for the GPU: computes 1/2 |W_1...W_M - X|^2 and its gradient over all columns, by
/// panels of columns, with plain loops that a compiler vectorizes. Values and gradient are stored
/// link after link, as on the GPU; X is row-major N x N. Panels are distributed over `threads`.
double host_objective(const ChordShape& shape,
                      const std::vector<double>& values,
                      const std::vector<double>& X,
                      int threads,
                      std::vector<double>& gradient);

}  // namespace matapprox::cuda
