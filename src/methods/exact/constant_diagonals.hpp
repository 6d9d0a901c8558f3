#pragma once

#include <algorithm>
#include <optional>
#include <span>

#include "matapprox/factors/toeplitz.hpp"

namespace matapprox::exact_store {

/// True if the two arrays of `count` numbers agree in every bit.
inline bool same_bits(const double* a, const double* b, Index count) {
  const auto bytes = [count](const double* x) {
    return std::as_bytes(std::span(x, static_cast<std::size_t>(count)));
  };
  return std::ranges::equal(bytes(a), bytes(b));
}

/// Returns A as a Toeplitz or Hankel matrix, of blocks of that kind if it is one, if that loses no
/// bit; of several such forms the one with the fewest values. Nothing if A has none, if it has no
/// second row and column, or if the values are as many as the entries. Most matrices are recognized
/// as others by their first two columns; else the cost is one pass over A for each form that those
/// columns admit.
std::optional<ToeplitzMatrix> constant_diagonals(const Matrix& A);

/// The matrix with each level of square blocks whose values for i - j and j - i are the same bits
/// stored as a symmetric one.
ToeplitzMatrix with_symmetric_levels(ToeplitzMatrix::Content content);

}  // namespace matapprox::exact_store
