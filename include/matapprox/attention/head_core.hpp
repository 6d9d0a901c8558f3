#pragma once

#include "matapprox/attention/attention.hpp"

namespace matapprox::attention {

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
  /// Of one head with N tokens of width p, values of the same width.
  virtual AttentionCost cost(Index length, Index width) const = 0;
};

}  // namespace matapprox::attention
