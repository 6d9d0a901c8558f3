#pragma once

#include "matapprox/attention/layers/attention.hpp"
#include "matapprox/attention/layers/layers.hpp"

namespace matapprox::attention {

/// Arrays of N x p numbers, one per head, each contiguous, so that a head's pass reads memory in
/// order for samples of any length.
template <class T>
struct HeadArrays {
  T* data;
  Index length;
  Index width;  ///< p
  Index count;

  TokenMap<T> operator[](Index h) const { return {data + h * length * width, length, width}; }
  HeadArrays next() const { return {data + size(), length, width, count}; }
  Index size() const { return count * length * width; }

  /// get() and set() copy rows begin, begin + 1, ... of the heads, side by side, to and from X.
  void get(Index begin, Out<T> X) const {
    for (Index h = 0; h < count; ++h)
      X.middleCols(h * width, width) = (*this)[h].middleRows(begin, X.rows());
  }
  /// Like get(), but returns a view of the rows for a single head; for several heads the rows are
  /// written to `copy`.
  ConstTokens<T> rows(Index begin, Out<T> copy) const {
    if (count == 1) return (*this)[0].middleRows(begin, copy.rows());
    get(begin, copy);
    return copy;
  }
  void set(Index begin, In<T> X) const {
    for (Index h = 0; h < count; ++h)
      (*this)[h].middleRows(begin, X.rows()) = X.middleCols(h * width, width);
  }
};

/// Queries, keys and values of one head: N x p, N x p and N x v numbers.
template <class T>
struct HeadInputs {
  ConstTokens<T> Q;
  ConstTokens<T> K;
  ConstTokens<T> V;
  Index head = 0;  ///< its number in the layer
};

/// Arrays of the same sizes for the gradients with respect to them.
template <class T>
struct HeadGradients {
  Tokens<T> Q;
  Tokens<T> K;
  Tokens<T> V;
};

/// Computation of one head from its queries, keys and values: H = E(Q, K) V. Most mechanisms differ
/// only in this; MultiHead adds the projections.
///
/// H is linear in V, and the width v of the values is arbitrary (it differs from p if the effective
/// matrix E is applied to a block). Data for the backward pass are stored in the cache, which
/// belongs to the head.
template <class T>
class HeadCore {
 public:
  virtual ~HeadCore() = default;
  virtual void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const = 0;
  /// Sets the gradients `d` from dH; H is the result of the forward pass.
  virtual void backward(Context<T> context,
                        HeadInputs<T> in,
                        In<T> H,
                        In<T> dH,
                        HeadGradients<T> d,
                        Cache<T>& cache) const = 0;
  /// True if keys and values are linear mixtures of tokens, the same for all heads. Then the tokens
  /// X are mixed first and `key` and `value` project the mixtures, MultiHead projects only queries,
  /// and forward_tokens and backward_tokens replace forward and backward for all heads. Head h uses
  /// child h of the cache.
  virtual bool mixes_tokens() const { return false; }
  virtual void forward_tokens(Context<T> /*context*/,
                              In<T> /*X*/,
                              const Linear<T>& /*key*/,
                              const Linear<T>& /*value*/,
                              const HeadArrays<T>& /*Q*/,
                              const HeadArrays<T>& /*H*/,
                              Cache<T>& /*cache*/) const {}
  /// Sets dQ, and dX without the contribution of the queries.
  virtual void backward_tokens(Context<T> /*context*/,
                               In<T> /*X*/,
                               const Linear<T>& /*key*/,
                               const Linear<T>& /*value*/,
                               const HeadArrays<T>& /*Q*/,
                               const HeadArrays<T>& /*H*/,
                               const HeadArrays<T>& /*dH*/,
                               const HeadArrays<T>& /*dQ*/,
                               Out<T> /*dX*/,
                               Cache<T>& /*cache*/) const {}
  /// Cost of one head with N tokens of width p and values of the same width.
  virtual AttentionCost cost(Index length, Index width) const = 0;
  /// Cost of forward_tokens() for all heads, whose total width is `width`.
  virtual AttentionCost tokens_cost(Index /*length*/, Index /*width*/, Index /*heads*/) const {
    return {};
  }
};

}  // namespace matapprox::attention
