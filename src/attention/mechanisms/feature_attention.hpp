#pragma once

#include "attention/kernels/bilinear.hpp"
#include "attention/layers/constants.hpp"

namespace matapprox::attention {

// Normalized attention with features: H_i = sum_j (f_i . g_j) v_j / (sum_j f_i . g_j + 1e-6), where
// f and g are the features (N x D) of queries and keys, and j runs over the tokens (up to i if
// causal). The sum is one more column of values, all ones: [H o s, s] = F (G^T [V o m, m]) with the
// mask m.

/// Computes H from F, G and V. The cache keeps [V o m, m] and the sums for the backward pass.
template <class T>
void feature_attention(
    Context<T> context, HeadInputs<T> in, bool causal, Out<T> H, Cache<T>& cache) {
  const Index n = in.V.rows();
  const Index v = in.V.cols();
  TokenMap<T> values = cache.array(0, n, v + 1);
  TokenMap<T> sums = cache.array(1, n, 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> Y = scope.take(n, v + 1);
  values.leftCols(v) = in.V;
  values.col(v).setOnes();
  clear_padding<T>(context.mask, values);
  bilinear<T>(context, {in.Q, in.K, values}, causal, Y);
  for (Index i = 0; i < n; ++i) {
    sums(i, 0) = Y(i, v) + T(kMinSum);
    H.row(i) = Y.row(i).head(v) / sums(i, 0);
  }
}

/// Sets dF, dG and dV: d(H o s) = dH / s and ds = -<dH, H> / s.
template <class T>
void feature_attention_backward(Context<T> context,
                                HeadInputs<T> in,
                                bool causal,
                                In<T> H,
                                In<T> dH,
                                HeadGradients<T> d,
                                Cache<T>& cache) {
  const Index n = H.rows();
  const Index v = H.cols();
  const TokenMap<T> values = cache.array(0, n, v + 1);
  const TokenMap<T> sums = cache.array(1, n, 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> dY = scope.take(n, v + 1);
  TokenMap<T> d_values = scope.take(n, v + 1);
  for (Index i = 0; i < n; ++i) {
    dY.row(i).head(v) = dH.row(i) / sums(i, 0);
    dY(i, v) = -dH.row(i).dot(H.row(i)) / sums(i, 0);
  }
  bilinear_backward<T>(context, {in.Q, in.K, values}, causal, dY, {d.Q, d.K, d_values});
  d.V = d_values.leftCols(v);
  clear_padding<T>(context.mask, d.V);
  clear_padding<T>(context.mask, d.K);
}

}  // namespace matapprox::attention
