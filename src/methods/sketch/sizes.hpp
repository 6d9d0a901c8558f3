#pragma once

#include "matapprox/methods/sketch.hpp"

namespace matapprox {

/// Ends of the 95 % interval of an error estimate from q samples, in units of the estimate.
struct SketchInterval {
  double low;
  double high;
};
SketchInterval sketch_interval(Index samples);

}  // namespace matapprox
