#pragma once

#include <span>

#include "matapprox/factors/chord_factors.hpp"

namespace matapprox {

/// Y = W_1 ... W_M X, or Y = W_M^T ... W_1^T X, for a chain of Chord factors; X and Y are N x b,
/// column-major, and may not overlap. [KYCY22, Sec. 3]
///
/// `values` are the pattern.stored_numbers() entries in the layout of ChordFactors. Cost: 2 b flops
/// per stored number; up to two columns go as vectors, more through row-major panels of a few cache
/// lines a row, two N x 64 bytes x 4 at a time per thread. On all threads, and the same to the bit
/// for every number of them, for every number of columns beside, and on every CPU with fused
/// multiply-add.
/// Throws InvalidArgument unless the pattern is valid, there are as many values as it stores, and X
/// and Y are of its order and of one width.
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
