#pragma once

#include <memory>
#include <string>

#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {

/// Upper limit of widths, ranks and numbers of features: far above any use, and a product of two
/// still fits into an Index.
constexpr Index kLargestWidth = Index{1} << 24;
/// Throws InvalidArgument, with `who` in the message, unless `least` <= value <= kLargestWidth.
void check_width(const char* who, const char* option, Index value, Index least);

/// Tells if a mechanism forms attention probabilities, on which dropout can act.
enum class Probabilities { kNone, kFormed };

/// Parameters common to all mechanisms; each mechanism also has its own options.
struct AttentionShape {
  Index width = 0;   ///< d, width of a token
  Index heads = 1;   ///< h, a divisor of d
  Index length = 0;  ///< the largest N
  Index layer = 0;   ///< index among `layers`; parameters of scope `model` are created once
  Index layers = 1;
  bool causal = false;     ///< row i sees only tokens 0..i; refused if impossible
  std::uint64_t seed = 1;  ///< seed of untrained random features and patterns
  /// Fraction of the attention probabilities that are dropped in training (ProbabilityDropout). A
  /// mechanism that forms none accepts only 0.
  double attention_dropout = 0;

  Index head_width() const { return width / heads; }
  /// Throws InvalidArgument, with `who` in the message, unless sizes are positive, none is above
  /// kLargestWidth, h divides d, and attention_dropout is in [0, 1), and 0 without probabilities.
  void validate(const char* who, Probabilities probabilities = Probabilities::kNone) const;
  /// Throws InvalidArgument unless a sample of `rows` x `cols` fits: 1 .. length tokens of width d.
  void check_sample(Index rows, Index cols) const;
};

/// Work and memory of one sample of N tokens. [WKZL23, Table 1]
struct AttentionCost {
  Index multiplications = 0;  ///< multiplications of a forward pass
  Index stored = 0;           ///< numbers that the backward pass needs, without the input
  AttentionCost& operator+=(const AttentionCost& other) {
    multiplications += other.multiplications;
    stored += other.stored;
    return *this;
  }
};

/// A layer that mixes tokens: N x d to N x width_out, for any N from 1 to shape.length unless a
/// mechanism states otherwise. Padding rows do not influence token rows, and their own results are
/// finite.
template <class T>
class Attention : public Layer<T> {
 public:
  virtual Index width_out() const = 0;
  virtual Index heads() const = 0;
  /// Compute Y = E B and Y = E^T B for the effective attention matrix E (N x N) of a head at X,
  /// which multiplies the head's values. B and Y are N x b. Cost: about that of the forward pass
  /// with b in place of the head's width; E is never formed.
  virtual void apply_map(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const = 0;
  virtual void apply_map_transpose(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const = 0;
  virtual AttentionCost cost(Index length) const = 0;
  /// Number of values per sample that this layer passes on to the layers above it (Realformer), in
  /// LayerContext::residual_scores; 0 for most mechanisms.
  virtual Index residual_score_count(Index /*length*/) const { return 0; }
  /// Note for the user on the layer as constructed, one sentence; empty for most mechanisms.
  virtual std::string remark() const { return {}; }
};

}  // namespace matapprox::attention
