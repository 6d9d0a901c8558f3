#pragma once

#include <functional>

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

/// Produces columns first .. first+count-1 of the target as a row-major N x count panel.
using TargetPanel = std::function<void(Index first, Index count, double* panel)>;

/// f = 1/2 sum over columns c of |W_1...W_M e_c - X e_c|^2 and, unless null, its gradient (the same
/// layout as `values`), by column panels; panel sums are added in a fixed order.
/// Work 6 M N^2 K flops; memory (M + 3) N b numbers per thread plus a few gradients.
double chord_objective(const ChordPattern& pattern,
                       const double* values,
                       const TargetPanel& target,
                       double* gradient);

}  // namespace matapprox::kernels
