#pragma once

#include <functional>
#include <span>
#include <type_traits>

#include "matapprox/kernels/chord_pattern.hpp"

namespace matapprox::kernels {

// Products and derivatives of a chain of Chord factors, for T = double and float. Internally,
// blocks are row-major panels of a few columns, so that a SIMD vector spans several columns; the
// public functions take column-major blocks. All results are bit-identical for any thread count.
// [KYCY22, Sec. 3]

/// A parameter from which T is not deduced, so that convertible arguments can be passed.
template <class T>
using Given = std::type_identity_t<T>;

/// Y = W_1 ... W_M X (transpose: W_M^T ... W_1^T X), N x b each; X and Y may not overlap. Cost: 2 b
/// flops per stored number. Throws InvalidArgument if the shapes do not agree.
template <class T>
void chord_apply(const ChordPattern& pattern,
                 const T* values,
                 const Given<ConstBlockOf<T>>& X,
                 Given<BlockOf<T>> Y);
template <class T>
void chord_apply_transpose(const ChordPattern& pattern,
                           const T* values,
                           const Given<ConstBlockOf<T>>& X,
                           Given<BlockOf<T>> Y);

/// Writes the target's columns at positions first .. first+count-1 of the list of columns (of all
/// columns if there is no list) into a row-major N x count panel. May be called from several
/// threads at once.
template <class T>
using TargetPanelOf = std::function<void(Index first, Index count, T* panel)>;
using TargetPanel = TargetPanelOf<double>;

/// The matrix Z of the objective, with P = W_1...W_M: P itself or (P + P^T) / 2.
enum class ChordForm { kProduct, kSymmetrized };

/// Returns f = 1/2 sum over columns c of |Z e_c - X e_c|^2 and sets its gradient (in the layout of
/// `values`) unless `gradient` is null. Works by column panels, whose sums are added in a fixed
/// order. A symmetrized Z requires a symmetric X: with the residual R = Z - X symmetric, the
/// derivative of f along dP is <R, dP>. Cost: 6 M N^2 K flops, 8 M N^2 K if symmetrized. Memory per
/// thread: (M + 1) N b numbers (one panel more if symmetrized), b = 32 doubles or 64 floats at
/// most; also a copy of the values, and up to eight gradients if they are small.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// The same for the given columns only: c runs over `columns`, each in 0..N-1, in any order; one
/// that is listed twice counts twice. Cost: 6 N M K flops per column, 8 N M K if symmetrized. For a
/// symmetrized Z the gradient is the part of <R, dP> in these columns: in expectation over columns
/// drawn at random, it is the gradient of all columns.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       std::span<const Index> columns,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// Sets `result` to J^T J v, the product of a Gauss-Newton step, where J is the Jacobian of
/// W_1...W_M (all N^2 entries) with respect to the values and v a direction in the layout of the
/// values. Cost: 8 M N^2 K flops; memory as for the objective.
template <class T>
void chord_gauss_newton_product(const ChordPattern& pattern,
                                const T* values,
                                const Given<T>* direction,
                                Given<T>* result);

}  // namespace matapprox::kernels
