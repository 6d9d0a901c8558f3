#pragma once

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/tiles.hpp"

namespace matapprox::cuda {

// Operations for for_each_piece: blocks are row-major without gaps, `columns` wide.

/// x = gelu(x + bias), where gelu(t) = t Phi(t) with the normal distribution function Phi. Writes
/// the derivative Phi(t) + t phi(t) to `slope`. [HG16]
template <class T>
struct BiasGelu {
  T* x = nullptr;
  T* slope = nullptr;
  const T* bias = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    auto value = load_numbers<T, kWidth>(x + at);
    Numbers<T, kWidth> derivative;
    for (int c = 0; c < kWidth; ++c) {
      constexpr T kRootHalf = T(0.70710678118654752440);
      constexpr T kDensityAtZero = T(0.39894228040143267794);
      const T t = value.values[c] + bias[column + c];
      const T distribution = T(0.5) * (T(1) + erf_of(t * kRootHalf));
      value.values[c] = t * distribution;
      derivative.values[c] = distribution + t * kDensityAtZero * exp_of(t * t * T(-0.5));
    }
    store_numbers(value, x + at);
    store_numbers(derivative, slope + at);
  }
};

/// x = x o by, entry by entry.
template <class T>
struct MultiplyBy {
  T* x = nullptr;
  const T* by = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    auto value = load_numbers<T, kWidth>(x + at);
    const auto factor = load_numbers<T, kWidth>(by + at);
    for (int c = 0; c < kWidth; ++c) value.values[c] *= factor.values[c];
    store_numbers(value, x + at);
  }
};

/// y = x + other + bias, with rows of padding set to 0. Null pointers are not added. y may be x or
/// other.
template <class T>
struct AddToTokens {
  const T* x = nullptr;
  const T* other = nullptr;
  const T* bias = nullptr;
  const std::uint8_t* mask = nullptr;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    Numbers<T, kWidth> sum{};
    if (is_token(mask, row)) {
      sum = load_numbers<T, kWidth>(x + at);
      for (int c = 0; c < kWidth; ++c) {
        if (bias != nullptr) sum.values[c] += bias[column + c];
        if (other != nullptr) sum.values[c] += other[at + c];
      }
    }
    store_numbers(sum, y + at);
  }
};

/// Embeds the rows of a batch. A row is the row of `table` for its token id (or x + bias), plus the
/// row of `positions` (length x columns) for its position in the sample, plus the row of `segment`
/// for its segment. The first row of each sample has the vector `cls` in place of the row of the
/// table. Rows of padding are 0. Null pointers are not added. y may be x.
template <class T>
struct EmbedRows {
  const T* x = nullptr;
  const T* bias = nullptr;
  const T* table = nullptr;
  const std::int32_t* tokens = nullptr;
  const T* cls = nullptr;
  const T* positions = nullptr;
  const T* segment = nullptr;
  const std::int32_t* segments = nullptr;
  Index length = 1;
  const std::uint8_t* mask = nullptr;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const Index place = row % length;
    Numbers<T, kWidth> sum{};
    if (is_token(mask, row)) {
      const bool is_cls = cls != nullptr && place == 0;
      const T* entry = table == nullptr ? x + at : table + tokens[row] * columns + column;
      if (is_cls) entry = cls + column;
      for (int c = 0; c < kWidth; ++c) {
        sum.values[c] = entry[c];
        if (bias != nullptr && !is_cls) sum.values[c] += bias[column + c];
        if (positions != nullptr) sum.values[c] += positions[place * columns + column + c];
        if (segment != nullptr) sum.values[c] += segment[segments[row] * columns + column + c];
      }
    }
    store_numbers(sum, y + at);
  }
};

/// y = tanh(y + bias).
template <class T>
struct BiasTanh {
  T* y = nullptr;
  const T* bias = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    auto numbers = load_numbers<T, kWidth>(y + (row * columns + column));
    for (int c = 0; c < kWidth; ++c)
      numbers.values[c] = tanh_of(numbers.values[c] + bias[column + c]);
    store_numbers(numbers, y + (row * columns + column));
  }
};

/// d = d o (1 - y^2), where y is the result of BiasTanh.
template <class T>
struct TanhBackward {
  const T* y = nullptr;
  T* d = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto made = load_numbers<T, kWidth>(y + at);
    auto numbers = load_numbers<T, kWidth>(d + at);
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= T(1) - made.values[c] * made.values[c];
    store_numbers(numbers, d + at);
  }
};

}  // namespace matapprox::cuda
