#pragma once

#include <vector>

#include "attention/chord_layer.hpp"
#include "matapprox/attention/tokens.hpp"

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
