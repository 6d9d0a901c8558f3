#pragma once

#include <memory>
#include <string>

#include "matapprox/attention/layer.hpp"

namespace matapprox::attention {

/// Of widths, ranks, numbers of features: far above any use, and a product of two still fits.
constexpr Index kLargestWidth = Index{1} << 24;
/// Throws InvalidArgument, in the name of `who`, unless `least` <= value <= kLargestWidth.
void check_width(const char* who, const char* option, Index value, Index least);

/// Whether a mechanism forms attention probabilities, which dropout can act on.
enum class Probabilities { kNone, kFormed };

/// What every mechanism is told; its own options come beside it.
struct AttentionShape {
  Index width = 0;   ///< d, of a token
  Index heads = 1;   ///< h, a divisor of d
  Index length = 0;  ///< the largest N
  Index layer = 0;   ///< which of `layers` this is: parameters of scope `model` are made once
  Index layers = 1;
  bool causal = false;     ///< row i sees tokens 0..i only; refused where that would not hold
  std::uint64_t seed = 1;  ///< of random features and patterns that are not trained
  /// Share of the attention probabilities that are dropped in training (ProbabilityDropout); a
  /// mechanism that forms none refuses all but 0.
  double attention_dropout = 0;

  Index head_width() const { return width / heads; }
  /// Throws InvalidArgument, in the name of `who`, unless sizes are positive, none is above
  /// kLargestWidth, h divides d, and 0 <= attention_dropout < 1, which is 0 without probabilities.
  void validate(const char* who, Probabilities probabilities = Probabilities::kNone) const;
  /// Throws InvalidArgument unless a sample of `rows` x `cols` fits: 1 .. length tokens of width d.
  void check_sample(Index rows, Index cols) const;
};

/// Work and memory of one sample of N tokens. [WKZL23, Table 1]
struct AttentionCost {
  Index multiplications = 0;  ///< of a forward pass
  Index stored = 0;           ///< numbers that the backward pass needs, the input left out
  AttentionCost& operator+=(const AttentionCost& other) {
    multiplications += other.multiplications;
    stored += other.stored;
    return *this;
  }
};

/// A layer that mixes tokens: N x d to N x width_out, any N from 1 to shape.length unless a
/// mechanism says otherwise. Rows of padding have no influence on those of tokens, and their own
/// result is finite.
template <class T>
class Attention : public Layer<T> {
 public:
  virtual Index width_out() const = 0;
  virtual Index heads() const = 0;
  /// Y = E B and Y = E^T B, for the effective attention matrix E (N x N) of a head at X: what
  /// multiplies the head's values. B and Y are N x b. Cost about that of the forward pass with b
  /// in the place of the head's width; E is never formed.
  virtual void apply_map(const LayerContext<T>& context,
                         const ConstTokens<T>& X,
                         Index head,
                         const ConstTokens<T>& B,
                         Tokens<T> Y,
                         Cache<T>& cache) const = 0;
  virtual void apply_map_transpose(const LayerContext<T>& context,
                                   const ConstTokens<T>& X,
                                   Index head,
                                   const ConstTokens<T>& B,
                                   Tokens<T> Y,
                                   Cache<T>& cache) const = 0;
  virtual AttentionCost cost(Index length) const = 0;
  /// Numbers of one sample that this layer passes on to the layers above it (Realformer), in
  /// LayerContext::residual_scores; 0 for most.
  virtual Index residual_score_count(Index /*length*/) const { return 0; }
  /// What its user should know of it as it was made, a sentence; empty for most.
  virtual std::string remark() const { return {}; }
};

}  // namespace matapprox::attention
