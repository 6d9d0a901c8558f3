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

}  // namespace matapprox::attention
