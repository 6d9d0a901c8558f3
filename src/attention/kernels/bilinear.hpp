#pragma once

#include "matapprox/attention/layers/head_core.hpp"
#include "matapprox/attention/layers/tokens.hpp"

namespace matapprox::attention {

/// C = alpha A B, plus C if `add`, computed by the toolkit's own kernel.
template <class T>
void multiply(In<T> A, In<T> B, Out<T> C, double alpha = 1, bool add = false);
/// C = alpha A^T B (+ C)
template <class T>
void multiply_transposed(In<T> A, In<T> B, Out<T> C, double alpha = 1, bool add = false);
/// C = alpha A B^T (+ C)
template <class T>
void multiply_by_transpose(In<T> A, In<T> B, Out<T> C, double alpha = 1, bool add = false);

// Y = Q (K^T V), or Y_i = q_i^T sum_{j <= i} k_j v_j^T if causal: the core of every mechanism of
// linear cost. Q is N x D, K and V are N' x D and N' x v (N' = N if causal). Costs 2 N D v
// multiplications. The causal product works in runs of kRun tokens and carries a D x v matrix from
// one run to the next. [KVPF20]

inline constexpr Index kRun = 64;

template <class T>
void keep_lower(Out<T> A) {
  for (Index i = 0; i < A.rows(); ++i) {
    for (Index j = i + 1; j < A.cols(); ++j) A(i, j) = T(0);
  }
}

template <class T>
void bilinear(Context<T> context, HeadInputs<T> in, bool causal, Out<T> Y) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> S = scope.take(in.Q.cols(), in.V.cols());
  if (!causal) {
    multiply_transposed<T>(in.K, in.V, S);
    multiply<T>(in.Q, S, Y);
    return;
  }
  TokenMap<T> tile = scope.take(kRun, kRun);
  S.setZero();
  for (Index i = 0; i < in.Q.rows(); i += kRun) {
    const Index n = std::min(kRun, in.Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(in.Q.middleRows(i, n), in.K.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply<T>(in.Q.middleRows(i, n), S, Y.middleRows(i, n));
    multiply<T>(A, in.V.middleRows(i, n), Y.middleRows(i, n), 1, true);
    multiply_transposed<T>(in.K.middleRows(i, n), in.V.middleRows(i, n), S, 1, true);
  }
}

/// Sets dQ, dK and dV from dY.
template <class T>
void bilinear_backward(
    Context<T> context, HeadInputs<T> in, bool causal, In<T> dY, HeadGradients<T> d) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> S = scope.take(in.Q.cols(), in.V.cols());
  if (!causal) {
    multiply_transposed<T>(in.K, in.V, S);
    multiply_by_transpose<T>(dY, S, d.Q);
    multiply_transposed<T>(in.Q, dY, S);
    multiply_by_transpose<T>(in.V, S, d.K);
    multiply<T>(in.K, S, d.V);
    return;
  }
  TokenMap<T> tile = scope.take(kRun, kRun);
  const Index runs = (in.Q.rows() + kRun - 1) / kRun;
  S.setZero();  // sum of k v^T over earlier runs
  for (Index run = 0; run < runs; ++run) {
    const Index i = run * kRun;
    const Index n = std::min(kRun, in.Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(dY.middleRows(i, n), in.V.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply_by_transpose<T>(dY.middleRows(i, n), S, d.Q.middleRows(i, n));
    multiply<T>(A, in.K.middleRows(i, n), d.Q.middleRows(i, n), 1, true);
    multiply_transposed<T>(A, in.Q.middleRows(i, n), d.K.middleRows(i, n));
    multiply_transposed<T>(in.K.middleRows(i, n), in.V.middleRows(i, n), S, 1, true);
  }
  S.setZero();  // sum of q dy^T over later runs
  for (Index run = runs - 1; run >= 0; --run) {
    const Index i = run * kRun;
    const Index n = std::min(kRun, in.Q.rows() - i);
    Tokens<T> A = tile.topLeftCorner(n, n);
    multiply_by_transpose<T>(in.Q.middleRows(i, n), in.K.middleRows(i, n), A);
    keep_lower<T>(A);
    multiply_by_transpose<T>(in.V.middleRows(i, n), S, d.K.middleRows(i, n), 1, true);
    multiply<T>(in.K.middleRows(i, n), S, d.V.middleRows(i, n));
    multiply_transposed<T>(A, dY.middleRows(i, n), d.V.middleRows(i, n), 1, true);
    multiply_transposed<T>(in.Q.middleRows(i, n), dY.middleRows(i, n), S, 1, true);
  }
}

/// Y = X, with rows of padding set to 0.
template <class T>
void copy_tokens(Mask mask, In<T> X, Out<T> Y) {
  for (Index i = 0; i < X.rows(); ++i) {
    if (is_token(mask, i)) {
      Y.row(i) = X.row(i);
    } else {
      Y.row(i).setZero();
    }
  }
}

template <class T>
void clear_padding(Mask mask, Out<T> X) {
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
