#pragma once

#include <vector>

#include "matapprox/kernels/chord_pattern.hpp"

namespace matapprox {

/// A chain of Chord factors: the pattern and one contiguous block of values, factor after factor.
/// Factor m is an N x links(m) row-major array whose entry (i, k) is W_m[i, (i + offsets[m][k]) mod
/// N]. The same block is the optimizer's parameter vector, the kernels' operand and the dataset on
/// disk.
struct ChordFactors {
  ChordPattern pattern;
  std::vector<double> values;  ///< pattern.stored_numbers()
};

}  // namespace matapprox
