#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// A chessboard of n x n gray values: `squares` x `squares` fields of 224 and 32 in turn; rank 2.
Matrix chessboard(Index n, Index squares);

/// A scene of n x n gray values, whole numbers in 0..255: a house between hills under a bright sky,
/// with sharp edges at many angles (4 x 4 samples per pixel), smooth shading, a brick wall and
/// rough grass.
Matrix scene(Index n, std::uint64_t seed);

}  // namespace matapprox::generate
