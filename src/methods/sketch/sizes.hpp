#pragma once

#include "matapprox/methods/sketch.hpp"

namespace matapprox {

/// The options with rank, k and s as they will be used, no budget left open. Throws
/// InvalidArgument and BudgetTooSmall as StreamingSketch does.
SketchOptions resolved_sketch_options(Index rows, Index cols, const SketchOptions& options);

/// Where the 95 % interval of an error estimate from q samples ends, in units of the estimate.
struct SketchInterval {
  double low;
  double high;
};
SketchInterval sketch_interval(Index samples);

}  // namespace matapprox
