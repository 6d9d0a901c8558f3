#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/attention/layers/attention.hpp"
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

// Lengths from which on one mechanism costs less than another.

/// Parameters of Table 1 of [WKZL23] besides N, with the values of the paper's experiments.
struct TableOneSetting {
  Index width = 384;               ///< d
  Index heads = 6;                 ///< m there, h here
  Index linformer_rank = 256;      ///< k
  Index singularformer_rank = 64;  ///< r
  bool operator==(const TableOneSetting&) const = default;
};

/// The entries of [WKZL23, Table 1] for one attention layer at N tokens: multiplications, and as
/// `stored` all numbers that the forward pass computes.
///
/// The layers' own cost() has the same multiplications, except for a Linformer whose heads share E
/// and F: it projects k mixtures to keys and values instead of N tokens, 2 (N - k) d^2 less. Its
/// `stored`, the numbers that the backward pass needs, differs. No layer counts its result, d N.
/// Softmax attention never holds its h N^2 entries nor Linformer its h k N, only h N logarithms of
/// sums. Linformer counts E and F, 2 k N, as parameters; if all heads share E and F, it stores
/// mixtures, 4 k d and their 2 k sums, in place of N keys and values. Singularformer stores N + r
/// logarithms of sums.
AttentionCost table_one_softmax(const TableOneSetting& setting, Index length);
AttentionCost table_one_linformer(const TableOneSetting& setting, Index length);
AttentionCost table_one_singularformer(const TableOneSetting& setting, Index length);

/// Cost of one layer as a function of the length.
using CostOfLength = std::function<AttentionCost(Index)>;

/// The smallest of the compared lengths from which on `cost` is below `reference`; empty if it is
/// not below at the longest.
struct Crossover {
  std::optional<Index> multiplications;
  std::optional<Index> stored;
};

/// Compares the two at the lengths 1..longest. Throws InvalidArgument if longest is below 1.
Crossover crossover(const CostOfLength& cost, const CostOfLength& reference, Index longest);

}  // namespace matapprox::attention
