#pragma once

#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/layers/tokens.hpp"

namespace matapprox::attention {

/// C = alpha A B, plus C if `add`, computed by the toolkit's own kernel.
template <class T>
void multiply(const ConstTokens<T>& A,
              const ConstTokens<T>& B,
              Tokens<T> C,
              double alpha = 1,
              bool add = false);
/// C = alpha A^T B (+ C)
template <class T>
void multiply_transposed(const ConstTokens<T>& A,
                         const ConstTokens<T>& B,
                         Tokens<T> C,
                         double alpha = 1,
                         bool add = false);
/// C = alpha A B^T (+ C)
template <class T>
void multiply_by_transpose(const ConstTokens<T>& A,
                           const ConstTokens<T>& B,
                           Tokens<T> C,
                           double alpha = 1,
                           bool add = false);

// Y = Q (K^T U), or Y_i = q_i^T sum_{j <= i} k_j u_j^T if causal: the core of every mechanism of
// linear cost. Q is N x D, K and U are N' x D and N' x u (N' = N if causal). Costs 2 N D u
// multiplications. The causal product works in runs of kRun tokens and carries a D x u matrix from
// one run to the next. [KVPF20]

inline constexpr Index kRun = 64;

template <class T>
void keep_lower(Tokens<T> A) {
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = i + 1; j < A.cols(); ++j) A(i, j) = T(0);
  }
}

template <class T>
void bilinear(const LayerContext<T>& context,
              const ConstTokens<T>& Q,
              const ConstTokens<T>& K,
              const ConstTokens<T>& U,
              bool causal,
              Tokens<T> Y) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> S = scope.take(Q.cols(), U.cols());
  if (!causal) {
    multiply_transposed<T>(K, U, S);
    multiply<T>(Q, S, Y);
    return;
  }
  TokenMap<T> tile = scope.take(kRun, kRun);
  S.setZero();
  for (Index i = 0; i < Q.rows(); i += kRun) {
    const Index n = std::min(kRun, Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(Q.middleRows(i, n), K.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply<T>(Q.middleRows(i, n), S, Y.middleRows(i, n));
    multiply<T>(A, U.middleRows(i, n), Y.middleRows(i, n), 1, true);
    multiply_transposed<T>(K.middleRows(i, n), U.middleRows(i, n), S, 1, true);
  }
}

/// Sets dQ, dK and dU from dY.
template <class T>
void bilinear_backward(const LayerContext<T>& context,
                       const ConstTokens<T>& Q,
                       const ConstTokens<T>& K,
                       const ConstTokens<T>& U,
                       bool causal,
                       const ConstTokens<T>& dY,
                       Tokens<T> dQ,
                       Tokens<T> dK,
                       Tokens<T> dU) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> S = scope.take(Q.cols(), U.cols());
  if (!causal) {
    multiply_transposed<T>(K, U, S);
    multiply_by_transpose<T>(dY, S, dQ);
    multiply_transposed<T>(Q, dY, S);
    multiply_by_transpose<T>(U, S, dK);
    multiply<T>(K, S, dU);
    return;
  }
  TokenMap<T> tile = scope.take(kRun, kRun);
  const Index runs = (Q.rows() + kRun - 1) / kRun;
  S.setZero();  // sum of k u^T over earlier runs
  for (Index run = 0; run < runs; ++run) {
    const Index i = run * kRun;
    const Index n = std::min(kRun, Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(dY.middleRows(i, n), U.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply_by_transpose<T>(dY.middleRows(i, n), S, dQ.middleRows(i, n));
    multiply<T>(A, K.middleRows(i, n), dQ.middleRows(i, n), 1, true);
    multiply_transposed<T>(A, Q.middleRows(i, n), dK.middleRows(i, n));
    multiply_transposed<T>(K.middleRows(i, n), U.middleRows(i, n), S, 1, true);
  }
  S.setZero();  // sum of q dy^T over later runs
  for (Index run = runs - 1; run >= 0; --run) {
    const Index i = run * kRun;
    const Index n = std::min(kRun, Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(Q.middleRows(i, n), K.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply_by_transpose<T>(U.middleRows(i, n), S, dK.middleRows(i, n), 1, true);
    multiply<T>(K.middleRows(i, n), S, dU.middleRows(i, n));
    multiply_transposed<T>(A, dY.middleRows(i, n), dU.middleRows(i, n), 1, true);
    multiply_transposed<T>(Q.middleRows(i, n), dY.middleRows(i, n), S, 1, true);
  }
}

/// Y = X, with rows of padding set to 0.
template <class T>
void copy_tokens(Mask mask, const ConstTokens<T>& X, Tokens<T> Y) {
  for (Index i = 0; i < X.rows(); ++i) {
    if (is_token(mask, i)) {
      Y.row(i) = X.row(i);
    } else {
      Y.row(i).setZero();
    }
  }
}

template <class T>
void clear_padding(Mask mask, Tokens<T> X) {
  if (mask.empty()) return;
  for (Index i = 0; i < X.rows(); ++i) {
    if (!is_token(mask, i)) X.row(i).setZero();
  }
}

inline Index count_tokens(Mask mask, Index n) {
  if (mask.empty()) return n;
  Index count = 0;
  for (const std::uint8_t token : mask) count += token != 0 ? 1 : 0;
  return count;
}

}  // namespace matapprox::attention
