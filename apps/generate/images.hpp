#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// n x n gray values, `squares` by `squares` of 32 and 224 in turn: rank 2.
Matrix chessboard(Index n, Index squares);

/// n x n gray values, whole numbers in 0..255: a house between hills under a bright sky, with sharp
/// edges at many angles (4 x 4 samples a pixel), smooth shading, a brick wall and rough grass.
Matrix scene(Index n, std::uint64_t seed);

}  // namespace matapprox::generate
