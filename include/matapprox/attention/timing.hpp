#pragma once

#include <string>
#include <vector>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

/// A mechanism and what of its options is not at its default.
struct ChosenMechanism {
  std::string name;
  NamedOptions options;
  /// "linformer", "linformer:rank=256:tied=true"
  std::string label() const;
};

/// One attention layer at one length: what a sample takes on one thread, in float.
struct TimedAttention {
  std::string mechanism;  ///< its label
  Index length = 0;
  double forward_seconds = 0;   ///< CPU time, median of the rounds
  double training_seconds = 0;  ///< of a forward and a backward pass
  Index bytes = 0;              ///< held for a forward and a backward pass, parameters left out
  AttentionCost cost;           ///< counted
};

/// Times layers at every length, shape.length being the longest; a
/// mechanism that has one head is made with one. Every round runs everything once (for at least 10
/// ms each), so that what else the machine does hits all alike. Inputs are standard normal.
/// Throws InvalidArgument for a mechanism or an option that does not exist, a length below 1,
/// rounds below 1.
std::vector<TimedAttention> time_attention(const std::vector<ChosenMechanism>& mechanisms,
                                           const AttentionShape& shape,
                                           const std::vector<Index>& lengths,
                                           int rounds);

/// An array of a layer, by name.
struct LayerTensor {
  std::string name;
  TokenMatrix<float> values;
};

/// What time_attention works on at a length, for other programs to do the same: the input X and the
/// result Y of a layer, its parameters by their names (layer.query.weight ...), and the gradient of
/// |Y|^2 / 2 by the input and each parameter, gradient.X, gradient.layer.query.weight ...
std::vector<LayerTensor> timed_tensors(const ChosenMechanism& mechanism,
                                       const AttentionShape& shape,
                                       Index length);

/// Slope of the logarithm of time against that of length by least squares over the rows of one
/// mechanism; NaN with fewer than two.
double time_slope(const std::vector<TimedAttention>& rows, const std::string& mechanism);

/// The length from which on `mechanism` takes less time for a forward pass than `reference`: where
/// the lines through the measured points, on logarithmic axes, cross for the last time. NaN where
/// they do not, or where it is faster (or slower) at every length.
double measured_crossover(const std::vector<TimedAttention>& rows,
                          const std::string& mechanism,
                          const std::string& reference);

}  // namespace matapprox::attention
