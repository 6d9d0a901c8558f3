#pragma once

#include "attention/kernels/bilinear.hpp"

namespace matapprox::attention {

// Normalized attention with features: H_i = sum_j (f_i . g_j) v_j / (sum_j f_i . g_j + 1e-6), where
// f and g are the features (N x D) of queries and keys, and j runs over the tokens (up to i if
// causal). The sum is one more column of values, all ones: [H o s, s] = F (G^T [V o m, m]) with the
// mask m.

inline constexpr double kMinSum = 1e-6;

/// Computes H. `values` (N x (v + 1)) and `sums` (N x 1) are stored for the backward pass.
template <class T>
void feature_attention(const LayerContext<T>& context,
                       const ConstTokens<T>& F,
                       const ConstTokens<T>& G,
                       const ConstTokens<T>& V,
                       bool causal,
                       Tokens<T> values,
                       Tokens<T> sums,
                       Tokens<T> H) {
  const Index n = F.rows();
  const Index v = V.cols();
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> Y = scope.take(n, v + 1);
  values.leftCols(v) = V;
  values.col(v).setOnes();
  clear_padding<T>(context.mask, values);
  bilinear<T>(context, F, G, values, causal, Y);
  for (Index i = 0; i < n; ++i) {
    sums(i, 0) = Y(i, v) + T(kMinSum);
    H.row(i) = Y.row(i).head(v) / sums(i, 0);
  }
}

/// Sets dF, dG and dV: d(H o s) = dH / s and ds = -<dH, H> / s.
template <class T>
void feature_attention_backward(const LayerContext<T>& context,
                                const ConstTokens<T>& F,
                                const ConstTokens<T>& G,
                                bool causal,
                                const ConstTokens<T>& values,
                                const ConstTokens<T>& sums,
                                const ConstTokens<T>& H,
                                const ConstTokens<T>& dH,
                                Tokens<T> dF,
                                Tokens<T> dG,
                                Tokens<T> dV) {
  const Index n = F.rows();
  const Index v = H.cols();
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> dY = scope.take(n, v + 1);
  TokenMap<T> d_values = scope.take(n, v + 1);
  for (Index i = 0; i < n; ++i) {
    dY.row(i).head(v) = dH.row(i) / sums(i, 0);
    dY(i, v) = -dH.row(i).dot(H.row(i)) / sums(i, 0);
  }
  bilinear_backward<T>(context, F, G, values, causal, dY, dF, dG, d_values);
  dV = d_values.leftCols(v);
  clear_padding<T>(context.mask, dV);
  clear_padding<T>(context.mask, dG);
}

}  // namespace matapprox::attention
