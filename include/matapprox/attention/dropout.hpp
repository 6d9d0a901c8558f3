#pragma once

#include "matapprox/attention/layer.hpp"

namespace matapprox::attention {

/// Each number becomes 0 with probability `rate`, else is divided by 1 - rate; outside training
/// nothing happens. [SHK+14]
///
/// Which ones, is drawn from counters (Call::random, the number of this layer, the place), so
/// nothing is stored: the backward pass is the same multiplication again.
template <class T>
class Dropout {
 public:
  /// `number` tells the dropouts of a model apart. Throws InvalidArgument unless 0 <= rate < 1.
  Dropout(double rate, Index number);
  void apply(const LayerContext<T>& context, Tokens<T> X) const;

 private:
  double rate_;
  Index number_;
};

}  // namespace matapprox::attention
