#pragma once

#include <span>
#include <vector>

#include "matapprox/attention/layers/tokens.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

/// Sizes of a factor of n rows and of the tokens, which have c columns.
struct ChordLayerShape {
  std::span<const Index> offsets;
  Index stride = 0;  ///< from one row of weights to the next
  Index order = 0;   ///< n
  Index width = 0;   ///< c
};

/// Products of one sparse factor with rows of tokens, and their derivatives, for T = float and
/// double. They run on the calling thread and allocate no memory. Row i of the factor holds K =
/// offsets.size() weights, the k-th in column (i + offsets[k]) mod n. The offsets are in 0..n-1 for
/// any n >= 1, in any order; the weights of equal offsets add up. Arrays are row-major: weights are
/// n x K with stride >= K numbers from one row to the next, all others are n x c without gaps.
/// Results must not overlap arguments. Each function costs 2 n K c flops. The bits of a result
/// depend on the instruction set, not on the addresses of the arrays.
template <class T>
struct ChordLayerFunctions {
  /// Y_i = sum over k of W_ik V_((i + offsets[k]) mod n), in the order of the offsets.
  void (*forward)(const ChordLayerShape& shape, const T* W, const T* V, T* Y);
  /// dW_ik = <G_i, V_((i + offsets[k]) mod n)>: the derivative with respect to the weights of a
  /// function whose derivative with respect to Y is G. The gaps between the rows of dW are not
  /// written.
  void (*backward_weights)(const ChordLayerShape& shape, const T* V, const T* G, T* dW);
  /// dV_j = sum over k of W_ik G_i with i = (j - offsets[k]) mod n, or dV_j += this sum if `add`:
  /// the derivative with respect to V.
  void (*backward_values)(const ChordLayerShape& shape, const T* W, const T* G, T* dV, bool add);
};

/// Returns the functions for the instruction set that the dispatch selected.
template <class T>
const ChordLayerFunctions<T>& chord_layer();

}  // namespace matapprox::kernels

namespace matapprox::attention {

// The same for tokens and a factor W with Chord links, stored N x K by rows: entry (i, k)
// multiplies row (i + o_k) mod N. V, G and Y are N x c without gaps between the rows. [KYCY22, Sec.
// 3]

/// Y = W V.
template <class T>
void chord_links(const std::vector<Index>& offsets, In<T> W, In<T> V, Out<T> Y) {
  kernels::chord_layer<T>().forward(
      {offsets, W.outerStride(), V.rows(), V.cols()}, W.data(), V.data(), Y.data());
}

/// dW_ik = <G_i, V_j>, j = (i + o_k) mod N.
template <class T>
void chord_links_weights(const std::vector<Index>& offsets, In<T> V, In<T> G, Out<T> dW) {
  kernels::chord_layer<T>().backward_weights(
      {offsets, dW.outerStride(), V.rows(), V.cols()}, V.data(), G.data(), dW.data());
}

/// Y = W^T G.
template <class T>
void chord_links_transposed(const std::vector<Index>& offsets, In<T> W, In<T> G, Out<T> Y) {
  kernels::chord_layer<T>().backward_values(
      {offsets, W.outerStride(), G.rows(), G.cols()}, W.data(), G.data(), Y.data(), false);
}

}  // namespace matapprox::attention
