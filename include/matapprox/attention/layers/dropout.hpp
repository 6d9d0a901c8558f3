#pragma once

#include <cstdint>

#include "matapprox/attention/layers/attention.hpp"

namespace matapprox::attention {

/// Sets each number to 0 with probability `rate`, else divides it by 1 - rate; has no effect
/// outside training. [SHK+14]
///
/// The choice is drawn from counters (LayerContext::random, the number of this layer, the
/// position), so nothing is stored: the backward pass is the same multiplication again.
template <class T>
class Dropout {
 public:
  /// `number` distinguishes the dropouts of a model. Throws InvalidArgument unless 0 <= rate < 1.
  Dropout(double rate, Index number);
  void apply(Context<T> context, Out<T> X) const;

 private:
  double rate_;
  Index number_;
};

/// Dropout of attention probabilities: with a mask M whose entries are 0 with probability
/// attention_dropout and 1 / (1 - attention_dropout) otherwise, P o M replaces P = softmax(S) in
/// training. Rows are not renormalized, as in [VSP+17].
///
/// M is a function of (LayerContext::random, layer, head, row, column) and is never stored: a
/// mechanism requests any part of it, in tiles of any size, and again in the backward pass. In H =
/// (P o M) V with dP = (dH V^T) o M, apply() computes both products with M:
///
///   forward     P = softmax(S);  apply(.., P);  H = P V
///   backward    dV = P^T dH with P after dropout;  dP = dH V^T;  apply(.., dP);
///               dS = P o (dP - <P, dP>) with P before dropout
///
/// where <P, dP> of row i is also <H_i, dH_i>. A mechanism that uses this class passes
/// Probabilities::kFormed to AttentionShape::validate; the others refuse a rate above 0.
class ProbabilityDropout {
 public:
  /// Uses the rate and the layer of a validated shape.
  explicit ProbabilityDropout(const AttentionShape& shape);
  double rate() const { return rate_; }
  /// True if apply() has an effect: in training, at a rate above 0.
  template <class T>
  bool acts(Context<T> context) const {
    return context.training && rate_ > 0;
  }
  /// Replaces P by P o M, for a part P of the head's matrix whose first entry is in `row` and
  /// `column` of that matrix. `site`, 0..255, distinguishes several matrices of one head. Columns
  /// are counted in the whole matrix: a part that begins at a multiple of 64 is fastest.
  template <class T>
  void apply(
      Context<T> context, Index head, Index row, Index column, Out<T> P, Index site = 0) const;
  /// The same decisions as bits, for kernels: bit c of words[r] is set if the entry in row `row +
  /// r` and column `column + c` is kept, for r < rows and c < 64.
  void keep_words(const RandomKey& random,
                  Index head,
                  Index row,
                  Index rows,
                  Index column,
                  std::uint64_t* words,
                  Index site = 0) const;

 private:
  double rate_;
  Index layer_;
};

}  // namespace matapprox::attention
