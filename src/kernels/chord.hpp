#pragma once

#include <functional>
#include <span>

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox::kernels {

// Products and derivatives of a chain of Chord factors. Inside, blocks are row-major panels of a
// few columns, so that SIMD runs along the columns; the public entry points take column-major
// blocks. All results are the same to the bit for every thread count. [KYCY22, Sec. 3]

/// Y = W_1 ... W_M X (transpose: W_M^T ... W_1^T X), N x b each; X and Y may not overlap.
/// Work 2 b times the stored numbers flops.
void chord_apply(const ChordPattern& pattern, const double* values, const ConstBlock& X, Block Y);
void chord_apply_transpose(const ChordPattern& pattern,
                           const double* values,
                           const ConstBlock& X,
                           Block Y);

/// Produces places first .. first+count-1 of the list of columns (of all columns, where there is no
/// list) of the target as a row-major N x count panel. Called from several threads at once.
using TargetPanel = std::function<void(Index first, Index count, double* panel)>;

/// f = 1/2 sum over columns c of |W_1...W_M e_c - X e_c|^2 and, unless null, its gradient (the same
/// layout as `values`), by column panels; panel sums are added in a fixed order.
/// Work 6 M N^2 K flops; memory (M + 3) N b numbers per thread plus a few gradients.
double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       const TargetPanel& target,
                       double* gradient);

/// The same for the given columns only: c runs over `columns`, each in 0..N-1, in any order; one
/// that is listed twice counts twice. Work 6 N M K flops per column.
double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       std::span<const Index> columns,
                       const TargetPanel& target,
                       double* gradient);

}  // namespace matapprox::kernels
