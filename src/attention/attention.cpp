#include "matapprox/attention/attention.hpp"

#include "core/require.hpp"

namespace matapprox::attention {

void AttentionShape::validate(const std::string& who) const {
  require(width >= 1, "{}: width {} is below 1", who, width);
  require(heads >= 1, "{}: heads {} is below 1", who, heads);
  require(width % heads == 0, "{}: width {} is not divisible by {} heads", who, width, heads);
  require(length >= 1, "{}: length {} is below 1", who, length);
  require(layer >= 0 && layer < layers, "{}: layer {} of {} layers", who, layer, layers);
}

void AttentionShape::check_sample(Index rows, Index cols) const {
  require(rows >= 1 && rows <= length && cols == width,
          "attention: {} tokens of width {}, it was made for 1..{} of width {}",
          rows,
          cols,
          length,
          width);
}

}  // namespace matapprox::attention
