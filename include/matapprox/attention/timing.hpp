#pragma once

#include <string>
#include <vector>

#include "matapprox/attention/attention.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::attention {

/// A mechanism, with those of its options that are not at their defaults.
struct ChosenMechanism {
  std::string name;
  NamedOptions options;
  /// Text for tables: "linformer", "linformer:rank=256:tied=true".
  std::string label() const;
};

/// Time and memory of one attention layer at one length, for a sample on one thread, in float.
struct TimedAttention {
  std::string mechanism;  ///< label of the mechanism
  Index length = 0;
  double forward_seconds = 0;   ///< CPU time, median of the rounds
  double training_seconds = 0;  ///< CPU time of a forward and a backward pass
  Index bytes = 0;              ///< memory of a forward and a backward pass, without parameters
  AttentionCost cost;           ///< result of Attention::cost()
};

/// Times layers at every length, which replaces shape.length; a mechanism with only one head is
/// created with one. Every round runs each layer once (for at least 10 ms), so that other load on
/// the machine affects all layers alike. Inputs are standard normal. Throws InvalidArgument for a
/// mechanism or an option that does not exist, a length below 1, rounds below 1.
std::vector<TimedAttention> time_attention(const std::vector<ChosenMechanism>& mechanisms,
                                           const AttentionShape& shape,
                                           const std::vector<Index>& lengths,
                                           int rounds);

/// A named array of a layer.
struct LayerTensor {
  std::string name;
  TokenMatrix<float> values;
};

/// Returns the data of time_attention at one length, so that other programs can repeat the
/// computation: the input X and the result Y of a layer, its parameters by name (layer.query.weight
/// ...), and the gradient of |Y|^2 / 2 with respect to the input and each parameter (gradient.X,
/// gradient.layer.query.weight ...).
std::vector<LayerTensor> timed_tensors(const ChosenMechanism& mechanism,
                                       const AttentionShape& shape,
                                       Index length);

/// Slope of the logarithm of time against that of length, by least squares over the rows of one
/// mechanism; NaN with fewer than two rows.
double time_slope(const std::vector<TimedAttention>& rows, const std::string& mechanism);

/// The length from which on `mechanism` takes less time for a forward pass than `reference`: the
/// last crossing of the lines through the measured points on logarithmic axes. NaN if the lines do
/// not cross, or if `mechanism` is faster (or slower) at every length.
double measured_crossover(const std::vector<TimedAttention>& rows,
                          const std::string& mechanism,
                          const std::string& reference);

}  // namespace matapprox::attention
