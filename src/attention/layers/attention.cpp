#include "matapprox/attention/layers/attention.hpp"

#include "matapprox/core/require.hpp"

namespace matapprox::attention {

void check_width(const char* who, const char* option, Index value, Index least) {
  require(value >= least && value <= kLargestWidth,
          "{}: {} {} is outside {}..{}",
          who,
          option,
          value,
          least,
          kLargestWidth);
}

void AttentionShape::validate(const char* who, Probabilities probabilities) const {
  check_width(who, "width", width, 1);
  check_width(who, "heads", heads, 1);
  require(width % heads == 0, "{}: width {} is not divisible by {} heads", who, width, heads);
  check_width(who, "length", length, 1);
  require(layer >= 0 && layer < layers, "{}: layer {} of {} layers", who, layer, layers);
  require(attention_dropout >= 0 && attention_dropout < 1,
          "{}: attention_dropout {} is outside 0..1 (1 excluded)",
          who,
          attention_dropout);
  require(attention_dropout == 0 || probabilities == Probabilities::kFormed,
          "{}: attention_dropout {}, but this mechanism forms no attention probabilities: only 0 "
          "is possible",
          who,
          attention_dropout);
}

void AttentionShape::check_sample(Index rows, Index cols) const {
  require(rows >= 1 && rows <= length && cols == width,
          "attention: {} tokens of width {}; this layer takes 1..{} of width {}",
          rows,
          cols,
          length,
          width);
}

}  // namespace matapprox::attention
