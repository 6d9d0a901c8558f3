#pragma once

#include <functional>
#include <span>
#include <type_traits>

#include "matapprox/kernels/chord_pattern.hpp"

namespace matapprox::kernels {

// Products and derivatives of a chain of Chord factors, for T = double and float. Inside, blocks
// are row-major panels of a few columns, so that SIMD runs along the columns; the public entry
// points take column-major blocks. All results are the same to the bit for every thread count.
// [KYCY22, Sec. 3]

/// A parameter from which T is not deduced, so that what converts to it can be passed.
template <class T>
using Given = std::type_identity_t<T>;

/// Y = W_1 ... W_M X (transpose: W_M^T ... W_1^T X), N x b each; X and Y may not overlap.
/// Work 2 b times the stored numbers flops. Throws InvalidArgument if the shapes do not agree.
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

/// Produces places first .. first+count-1 of the list of columns (of all columns, where there is no
/// list) of the target as a row-major N x count panel. May be called from several threads at once.
template <class T>
using TargetPanelOf = std::function<void(Index first, Index count, T* panel)>;
using TargetPanel = TargetPanelOf<double>;

/// What the matrix Z of the objective is, P = W_1...W_M: P itself or (P + P^T) / 2.
enum class ChordForm { kProduct, kSymmetrized };

/// f = 1/2 sum over columns c of |Z e_c - X e_c|^2 and, unless null, its gradient (the same layout
/// as `values`), by column panels; panel sums are added in a fixed order. A symmetrized Z asks for
/// a symmetric X: with the residual R = Z - X symmetric, the derivative of f along dP is <R, dP>.
/// Work 6 M N^2 K flops, 8 M N^2 K where symmetrized; memory (M + 1) N b numbers per thread (one
/// panel more where symmetrized), b = 32 doubles or 64 floats at most, a copy of the values, and up
/// to eight gradients where they are small.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// The same for the given columns only: c runs over `columns`, each in 0..N-1, in any order; one
/// that is listed twice counts twice. Work 6 N M K flops per column, 8 N M K where symmetrized. Of
/// a symmetrized Z the gradient is that of all columns in expectation, for columns that are drawn
/// at random: the part of <R, dP> in these columns.
template <class T>
double chord_objective(const ChordPattern& pattern,
                       const T* values,
                       std::span<const Index> columns,
                       const Given<TargetPanelOf<T>>& target,
                       Given<T>* gradient,
                       ChordForm form = ChordForm::kProduct);

/// J^T J v, J the Jacobian of W_1...W_M (all N^2 entries) by the values and v a direction in the
/// layout of the values: what a Gauss-Newton step multiplies by. Work 8 M N^2 K flops, memory as
/// for the objective.
template <class T>
void chord_gauss_newton_product(const ChordPattern& pattern,
                                const T* values,
                                const Given<T>* direction,
                                Given<T>* result);

}  // namespace matapprox::kernels
