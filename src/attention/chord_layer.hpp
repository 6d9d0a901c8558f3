#pragma once

#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::kernels {

// One sparse factor that is applied to the rows of tokens, and its derivatives, for T = float and
// double, by one thread and without memory of its own. Row i holds K = offsets.size() weights, the
// k-th in column (i + offsets[k]) mod n; the offsets are in 0..n-1 for any n >= 1, in any order,
// and those that are equal add up. Arrays are row-major: weights n x K with ldw >= K numbers from
// one row to the next, all others n x c without gaps. Results may not overlap arguments. 2 n K c
// flops each. The bits depend on the instruction set, not on where the arrays lie.

/// Y_i = sum over k of W_ik V_((i + offsets[k]) mod n), in the order of the offsets.
template <class T>
void chord_layer_forward(
    std::span<const Index> offsets, const T* W, Index ldw, const T* V, T* Y, Index n, Index c);

/// dW_ik = <G_i, V_((i + offsets[k]) mod n)>: the derivative by the weights of a function whose
/// derivative by Y is G. What lies between the rows of dW is left alone.
template <class T>
void chord_layer_backward_weights(
    std::span<const Index> offsets, const T* V, const T* G, T* dW, Index lddw, Index n, Index c);

/// dV_j = sum over k of W_ik G_i with i = (j - offsets[k]) mod n, or dV_j += that: the derivative
/// by V.
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
