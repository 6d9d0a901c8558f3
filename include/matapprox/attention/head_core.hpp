#pragma once

#include "matapprox/attention/attention.hpp"
#include "matapprox/attention/linear.hpp"

namespace matapprox::attention {

/// Arrays of N x p numbers, one a head, each in one piece: a head's pass reads memory in order,
/// however long the sample is.
template <class T>
struct HeadArrays {
  T* data;
  Index length;
  Index width;  ///< p
  Index count;

  TokenMap<T> operator[](Index h) const { return {data + h * length * width, length, width}; }
  HeadArrays next() const { return {data + size(), length, width, count}; }
  Index size() const { return count * length * width; }

  /// Rows begin, begin + 1, ... of the heads side by side, to and from X.
  void get(Index begin, Tokens<T> X) const {
    for (Index h = 0; h < count; ++h)
      X.middleCols(h * width, width) = (*this)[h].middleRows(begin, X.rows());
  }
  /// The same, where one head needs no copy: a view of the rows, which are put into `copy` if there
  /// are more.
  ConstTokens<T> rows(Index begin, Tokens<T> copy) const {
    if (count == 1) return (*this)[0].middleRows(begin, copy.rows());
    get(begin, copy);
    return copy;
  }
  void set(Index begin, const ConstTokens<T>& X) const {
    for (Index h = 0; h < count; ++h)
      (*this)[h].middleRows(begin, X.rows()) = X.middleCols(h * width, width);
  }
};

/// What one head does with its queries, keys and values (N x p, N x p, N x v): H = E(Q, K) V. Most
/// mechanisms differ in this alone; MultiHead adds the projections around it.
///
/// H is linear in V, and the width v of the values is any (it differs from p where the effective
/// matrix E is applied to a block). What the backward pass needs goes into the cache, which is the
/// head's own.
template <class T>
class HeadCore {
 public:
  virtual ~HeadCore() = default;
  virtual void forward(const LayerContext<T>& context,
                       Index head,
                       const ConstTokens<T>& Q,
                       const ConstTokens<T>& K,
                       const ConstTokens<T>& V,
                       Tokens<T> H,
                       Cache<T>& cache) const = 0;
  /// Sets dQ, dK and dV from dH; H is the result of the forward pass.
  virtual void backward(const LayerContext<T>& context,
                        Index head,
                        const ConstTokens<T>& Q,
                        const ConstTokens<T>& K,
                        const ConstTokens<T>& V,
                        const ConstTokens<T>& H,
                        const ConstTokens<T>& dH,
                        Tokens<T> dQ,
                        Tokens<T> dK,
                        Tokens<T> dV,
                        Cache<T>& cache) const = 0;
  /// The same for all heads, each with the child of the cache that has its number. Overridden where
  /// heads share work; backward_heads follows forward_heads, and backward forward.
  virtual void forward_heads(const LayerContext<T>& context,
                             const HeadArrays<T>& Q,
                             const HeadArrays<T>& K,
                             const HeadArrays<T>& V,
                             const HeadArrays<T>& H,
                             Cache<T>& cache) const {
    for (Index h = 0; h < V.count; ++h)
      forward(context, h, Q[h], K[h], V[h], H[h], cache.child(static_cast<std::size_t>(h)));
  }
  virtual void backward_heads(const LayerContext<T>& context,
                              const HeadArrays<T>& Q,
                              const HeadArrays<T>& K,
                              const HeadArrays<T>& V,
                              const HeadArrays<T>& H,
                              const HeadArrays<T>& dH,
                              const HeadArrays<T>& dQ,
                              const HeadArrays<T>& dK,
                              const HeadArrays<T>& dV,
                              Cache<T>& cache) const {
    for (Index h = 0; h < V.count; ++h) {
      backward(context,
               h,
               Q[h],
               K[h],
               V[h],
               H[h],
               dH[h],
               dQ[h],
               dK[h],
               dV[h],
               cache.child(static_cast<std::size_t>(h)));
    }
  }
  /// Whether keys and values are linear mixtures of tokens, the same for all heads. Then the tokens
  /// X are mixed before `key` and `value` project what is left of them, queries alone are projected
  /// by MultiHead, and these are called in the place of the two above.
  virtual bool mixes_tokens() const { return false; }
  virtual void forward_tokens(const LayerContext<T>& /*context*/,
                              const ConstTokens<T>& /*X*/,
                              const Linear<T>& /*key*/,
                              const Linear<T>& /*value*/,
                              const HeadArrays<T>& /*Q*/,
                              const HeadArrays<T>& /*H*/,
                              Cache<T>& /*cache*/) const {}
  /// Sets dQ, and dX but for what comes by the queries.
  virtual void backward_tokens(const LayerContext<T>& /*context*/,
                               const ConstTokens<T>& /*X*/,
                               const Linear<T>& /*key*/,
                               const Linear<T>& /*value*/,
                               const HeadArrays<T>& /*Q*/,
                               const HeadArrays<T>& /*H*/,
                               const HeadArrays<T>& /*dH*/,
                               const HeadArrays<T>& /*dQ*/,
                               Tokens<T> /*dX*/,
                               Cache<T>& /*cache*/) const {}
  /// Of one head with N tokens of width p, values of the same width.
  virtual AttentionCost cost(Index length, Index width) const = 0;
  /// Of forward_tokens() for all heads, which are `width` wide side by side.
  virtual AttentionCost tokens_cost(Index /*length*/, Index /*width*/, Index /*heads*/) const {
    return {};
  }
};

}  // namespace matapprox::attention
