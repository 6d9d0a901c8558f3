#pragma once

#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Columns J of the identity of order n.
inline Matrix unit_columns(Index n, std::span<const Index> J) {
  Matrix units = Matrix::Zero(n, static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size(); ++c) units(J[c], static_cast<Index>(c)) = 1.0;
  return units;
}

}  // namespace matapprox
