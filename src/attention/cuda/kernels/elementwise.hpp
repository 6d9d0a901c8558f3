#pragma once

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/tiles.hpp"

namespace matapprox::cuda {

// Operations for for_each_piece: blocks are row-major without gaps, `columns` wide.

/// x = gelu(x + bias), gelu(t) = t Phi(t) with the normal distribution function Phi, and its
/// derivative Phi(t) + t phi(t) to `slope`. [HG16]
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

/// x = x o by.
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

/// y = x + other + bias + the row of `positions` (length x columns) for the row's place in its
/// sample, rows of padding 0. Null: not added. y may be x or the other.
template <class T>
struct AddToTokens {
  const T* x = nullptr;
  const T* other = nullptr;
  const T* bias = nullptr;
  const T* positions = nullptr;
  Index length = 1;
  const std::uint8_t* mask = nullptr;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    Numbers<T, kWidth> sum{};
    if (is_token(mask, row)) {
      sum = load_numbers<T, kWidth>(x + at);
      const T* place = positions == nullptr ? nullptr : positions + (row % length) * columns;
      for (int c = 0; c < kWidth; ++c) {
        if (bias != nullptr) sum.values[c] += bias[column + c];
        if (other != nullptr) sum.values[c] += other[at + c];
        if (place != nullptr) sum.values[c] += place[column + c];
      }
    }
    store_numbers(sum, y + at);
  }
};

/// Rows of a table for token ids, plus positions as AddToTokens has them; rows of padding 0.
template <class T>
struct LookUp {
  const T* table = nullptr;
  const std::int32_t* tokens = nullptr;
  const T* positions = nullptr;
  Index length = 1;
  const std::uint8_t* mask = nullptr;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    Numbers<T, kWidth> sum{};
    if (is_token(mask, row)) {
      const T* entry = table + tokens[row] * columns + column;
      const T* place = positions == nullptr ? nullptr : positions + (row % length) * columns;
      for (int c = 0; c < kWidth; ++c)
        sum.values[c] = place == nullptr ? entry[c] : entry[c] + place[column + c];
    }
    store_numbers(sum, y + (row * columns + column));
  }
};

}  // namespace matapprox::cuda
