#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "matapprox/factors/packed.hpp"

namespace matapprox {

/// Values encoded without loss, in the way that takes the fewest bytes.
struct EncodedValues {
  SparseValues kind = SparseValues::kNumbers;
  int bits = 64;
  double offset = 0;
  std::vector<double> dictionary;
  std::vector<std::uint8_t> data;
};

EncodedValues encode_values_exactly(std::span<const double> values);

/// The largest q + 2^(bits - 1) of `count` two's complement integers of 1 to 16 bits.
std::size_t largest_index(std::span<const std::uint8_t> data, Index count, int bits);

/// True if the compressed A is square and its entries are those of its transpose. Cost: O(nnz).
bool equals_transpose(const SparseMatrix& A);

}  // namespace matapprox
