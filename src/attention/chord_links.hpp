#pragma once

#include <type_traits>
#include <vector>

#include "kernels/chord_layer.hpp"
#include "matapprox/attention/tokens.hpp"

namespace matapprox::attention {

// One sparse factor W with Chord links, stored N x K by rows, on token rows: entry (i, k) meets row
// (i + o_k) mod N. V, G and Y are N x c without gaps between the rows. 2 N K c flops each. [KYCY22,
// Sec. 3]

/// Calls run(i, j, count) for rows i, i+1, .. whose links of offset o lead to j, j+1, .. : two
/// runs, before and after the ring closes.
template <class Run>
void for_each_run(Index n, Index offset, const Run& run) {
  run(0, offset, n - offset);
  run(n - offset, 0, offset);
}

/// Y = W V.
template <class T>
void chord_links(const std::vector<Index>& offsets,
                 const ConstTokens<T>& W,
                 const ConstTokens<T>& V,
                 Tokens<T> Y) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::chord_layer_forward<T>(
        offsets, W.data(), W.outerStride(), V.data(), Y.data(), V.rows(), V.cols());
  } else {
    Y.setZero();
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      for_each_run(V.rows(), offsets[k], [&](Index i, Index j, Index count) {
        for (Index r = 0; r < count; ++r)
          Y.row(i + r) += W(i + r, static_cast<Index>(k)) * V.row(j + r);
      });
    }
  }
}

/// dW_ik = <G_i, V_j>, j = (i + o_k) mod N.
template <class T>
void chord_links_weights(const std::vector<Index>& offsets,
                         const ConstTokens<T>& V,
                         const ConstTokens<T>& G,
                         Tokens<T> dW) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::chord_layer_backward_weights<T>(
        offsets, V.data(), G.data(), dW.data(), dW.outerStride(), V.rows(), V.cols());
  } else {
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      for_each_run(V.rows(), offsets[k], [&](Index i, Index j, Index count) {
        for (Index r = 0; r < count; ++r)
          dW(i + r, static_cast<Index>(k)) = G.row(i + r).dot(V.row(j + r));
      });
    }
  }
}

/// Y = W^T G.
template <class T>
void chord_links_transposed(const std::vector<Index>& offsets,
                            const ConstTokens<T>& W,
                            const ConstTokens<T>& G,
                            Tokens<T> Y) {
  if constexpr (std::is_floating_point_v<T>) {
    kernels::chord_layer_backward_values<T>(
        offsets, W.data(), W.outerStride(), G.data(), Y.data(), G.rows(), G.cols(), false);
  } else {
    Y.setZero();
    for (std::size_t k = 0; k < offsets.size(); ++k) {
      for_each_run(G.rows(), offsets[k], [&](Index i, Index j, Index count) {
        for (Index r = 0; r < count; ++r)
          Y.row(j + r) += W(i + r, static_cast<Index>(k)) * G.row(i + r);
      });
    }
  }
}

}  // namespace matapprox::attention
