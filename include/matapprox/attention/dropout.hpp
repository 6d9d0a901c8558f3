#pragma once

#include "matapprox/attention/attention.hpp"

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

/// Dropout of attention probabilities: with a mask M whose entries are 0 with probability
/// attention_dropout and 1 / (1 - attention_dropout) else, P o M takes the place of P = softmax(S)
/// in training. Rows are not normalized again, as in [VSP+17].
///
/// M is a function of (LayerContext::random, layer, head, row, column) and is never stored: a
/// mechanism asks for any part of it, whatever tiles it works in, and in the backward pass once
/// more. In H = (P o M) V with dP = (dH V^T) o M, apply() is both products with M:
///
///   forward     P = softmax(S);  apply(.., P);  H = P V
///   backward    dV = P^T dH with the P that was dropped;  dP = dH V^T;  apply(.., dP);
///               dS = P o (dP - <P, dP>) with the P that was not
///
/// where <P, dP> of row i is also <H_i, dH_i>. A mechanism that uses this says
/// Probabilities::kFormed to AttentionShape::validate; the others refuse a rate above 0.
class ProbabilityDropout {
 public:
  /// With the rate and the layer of the shape, which has been validated.
  explicit ProbabilityDropout(const AttentionShape& shape);
  double rate() const { return rate_; }
  /// Whether apply() does anything: in training, at a rate above 0.
  template <class T>
  bool acts(const LayerContext<T>& context) const {
    return context.training && rate_ > 0;
  }
  /// P o M for a part P of the head's matrix, whose first entry is in `row` and `column` of it.
  /// `site` tells several matrices of one head apart, 0..255. Columns are as they are counted in
  /// the whole matrix: a part that begins at a multiple of 64 is fastest.
  template <class T>
  void apply(const LayerContext<T>& context,
             Index head,
             Index row,
             Index column,
             Tokens<T> P,
             Index site = 0) const;

 private:
  double rate_;
  Index layer_;
};

}  // namespace matapprox::attention
