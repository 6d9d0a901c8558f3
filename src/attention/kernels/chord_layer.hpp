#pragma once

#include <span>
#include <vector>

#include "matapprox/attention/layers/tokens.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// Products of one sparse factor with rows of tokens, and their derivatives, for T = float and
// double. They run on the calling thread and allocate no memory. Row i of the factor holds K =
// offsets.size() weights, the k-th in column (i + offsets[k]) mod n. The offsets are in 0..n-1 for
// any n >= 1, in any order; the weights of equal offsets add up. Arrays are row-major: weights are
// n x K with ldw >= K numbers from one row to the next, all others are n x c without gaps. Results
// must not overlap arguments. Each function costs 2 n K c flops. The bits of a result depend on the
// instruction set, not on the addresses of the arrays.

/// Y_i = sum over k of W_ik V_((i + offsets[k]) mod n), in the order of the offsets.
template <class T>
void chord_layer_forward(
    std::span<const Index> offsets, const T* W, Index ldw, const T* V, T* Y, Index n, Index c);

/// dW_ik = <G_i, V_((i + offsets[k]) mod n)>: the derivative with respect to the weights of a
/// function whose derivative with respect to Y is G. The gaps between the rows of dW are not
/// written.
template <class T>
void chord_layer_backward_weights(
    std::span<const Index> offsets, const T* V, const T* G, T* dW, Index lddw, Index n, Index c);

/// dV_j = sum over k of W_ik G_i with i = (j - offsets[k]) mod n, or dV_j += this sum if `add`: the
/// derivative with respect to V.
template <class T>
void chord_layer_backward_values(std::span<const Index> offsets,
                                 const T* W,
                                 Index ldw,
                                 const T* G,
                                 T* dV,
                                 Index n,
                                 Index c,
                                 bool add);

}  // namespace matapprox::kernels

namespace matapprox::attention {

// Products of token rows with one sparse factor W with Chord links, stored N x K by rows: entry (i,
// k) multiplies row (i + o_k) mod N. V, G and Y are N x c without gaps between the rows. Each
// function costs 2 N K c flops. [KYCY22, Sec. 3]

/// Y = W V.
template <class T>
void chord_links(const std::vector<Index>& offsets,
                 const ConstTokens<T>& W,
                 const ConstTokens<T>& V,
                 Tokens<T> Y) {
  kernels::chord_layer_forward<T>(
      offsets, W.data(), W.outerStride(), V.data(), Y.data(), V.rows(), V.cols());
}

/// dW_ik = <G_i, V_j>, j = (i + o_k) mod N.
template <class T>
void chord_links_weights(const std::vector<Index>& offsets,
                         const ConstTokens<T>& V,
                         const ConstTokens<T>& G,
                         Tokens<T> dW) {
  kernels::chord_layer_backward_weights<T>(
      offsets, V.data(), G.data(), dW.data(), dW.outerStride(), V.rows(), V.cols());
}

/// Y = W^T G.
template <class T>
void chord_links_transposed(const std::vector<Index>& offsets,
                            const ConstTokens<T>& W,
                            const ConstTokens<T>& G,
                            Tokens<T> Y) {
  kernels::chord_layer_backward_values<T>(
      offsets, W.data(), W.outerStride(), G.data(), Y.data(), G.rows(), G.cols(), false);
}

}  // namespace matapprox::attention
