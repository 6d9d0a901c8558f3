#pragma once

#include <cmath>

#include "matapprox/attention/layers/tokens.hpp"

namespace matapprox::attention {

/// Entry (i, 2 j) is scale sin(i 10000^(-2j/d)), and entry (i, 2 j + 1) is the same with the
/// cosine. [VSP+17, Sec. 3.5]
inline TokenMatrix<double> sinusoidal_encoding(Index length, Index width, double scale) {
  TokenMatrix<double> position_encoding(length, width);
  for (Index j = 0; j < width; ++j) {
    const double exponent = static_cast<double>(j - j % 2) / static_cast<double>(width);
    const double frequency = std::pow(10000.0, -exponent);
    for (Index i = 0; i < length; ++i) {
      const double angle = static_cast<double>(i) * frequency;
      position_encoding(i, j) = scale * (j % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return position_encoding;
}

}  // namespace matapprox::attention
