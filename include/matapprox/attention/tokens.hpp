#pragma once

#include <Eigen/Core>
#include <cstdint>
#include <span>

#include "matapprox/core/types.hpp"

namespace matapprox::attention {

/// Token matrices are row-major, a row a token: N x d. Layers work on one sample at a time, so that
/// no sample can see another one; a batch is samples side by side, spread over threads.
template <class T>
using TokenMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
/// Views: contiguous rows, any distance between them, so that a head is a slice of columns.
template <class T>
using ConstTokens = Eigen::Ref<const TokenMatrix<T>, 0, Eigen::OuterStride<>>;
template <class T>
using Tokens = Eigen::Ref<TokenMatrix<T>, 0, Eigen::OuterStride<>>;
/// What owners of memory hand out; converts to both.
template <class T>
using TokenMap = Eigen::Map<TokenMatrix<T>>;
template <class T>
using ConstTokenMap = Eigen::Map<const TokenMatrix<T>>;

/// N entries, 1 for a token of the sequence, 0 for padding; empty: all are tokens.
using Mask = std::span<const std::uint8_t>;

inline bool is_token(Mask mask, Index i) {
  return mask.empty() || mask[static_cast<std::size_t>(i)] != 0;
}

}  // namespace matapprox::attention
