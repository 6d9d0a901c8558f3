#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::attention {

/// Token matrices are row-major, one row per token: N x d. Layers process one sample at a time, so
/// that no sample can influence another one; the samples of a batch are distributed over threads.
template <class T>
using TokenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Views: contiguous rows, any distance between them, so that a head is a slice of columns.
template <class T>
using ConstTokens = Eigen::Ref<const TokenMatrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Tokens = Eigen::Ref<TokenMatrix<T>, 0, Eigen::OuterStride<>>;
/// The types of parameters: tokens that a function reads, and tokens that it writes.
template <class T>
using In = const ConstTokens<T>&;
template <class T>
using Out = Tokens<T>;
/// View returned by owners of memory; converts to both views above.
template <class T>
using TokenMap = Eigen::Map<TokenMatrix<T>>;
template <class T>
using ConstTokenMap = Eigen::Map<const TokenMatrix<T>>;

/// N entries, 1 for a token of the sequence, 0 for padding; empty: all rows are tokens.
using Mask = std::span<const std::uint8_t>;

inline bool is_token(Mask mask, Index i) {
  return mask.empty() || mask[static_cast<std::size_t>(i)] != 0;
}

}  // namespace matapprox::attention
