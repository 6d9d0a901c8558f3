#pragma once

#include <span>

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

/// Y = W_1 ... W_M X, or Y = W_M^T ... W_1^T X, for a chain of Chord factors; X and Y are N x b,
/// column-major, and may not overlap. [KYCY22, Sec. 3]
///
/// `values` are the pattern.stored_numbers() entries in the layout of ChordFactors. Cost: 2 b flops
/// per stored number. Up to two columns are multiplied as vectors, more in row-major panels of a
/// few cache lines per row, two N x 64 bytes x 4 at a time per thread. Runs on all threads. Results
/// are bit-identical for any number of threads, for any number of other columns, and on every CPU
/// with fused multiply-add. Throws InvalidArgument unless the pattern is valid, the number of
/// values matches it, and X and Y have N rows and equally many columns.
void chord_product(const ChordPattern& pattern,
                   std::span<const double> values,
                   const ConstBlock& X,
                   Block Y);
void chord_product(const ChordPattern& pattern,
                   std::span<const float> values,
                   const ConstBlockOf<float>& X,
                   BlockOf<float> Y);
void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const double> values,
                             const ConstBlock& X,
                             Block Y);
void chord_transpose_product(const ChordPattern& pattern,
                             std::span<const float> values,
                             const ConstBlockOf<float>& X,
                             BlockOf<float> Y);

}  // namespace matapprox
