#pragma once

#include "device/cuda/kernels/reductions.hpp"
#include "elementwise.hpp"

namespace matapprox::cuda {

/// All rows of a sample one after the other, its first row, or the mean of its tokens; padding
/// counts as 0 in the first two and not at all in the mean.
enum class TokenPool { kFlatten, kCls, kMean };

inline Index pooled_width(TokenPool pool, Index width, Index length) {
  return pool == TokenPool::kFlatten ? width * length : width;
}

/// y = factor[row] x, the rows of x being those of y that stand `stride` rows apart; rows of
/// padding 0. A null factor is 1.
template <class T>
struct TakeRows {
  const T* x = nullptr;
  const T* factor = nullptr;
  const std::uint8_t* mask = nullptr;
  Index stride = 1;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    Numbers<T, kWidth> value{};
    if (is_token(mask, row * stride)) {
      value = load_numbers<T, kWidth>(x + (row * stride * columns + column));
      if (factor != nullptr) {
        for (int c = 0; c < kWidth; ++c) value.values[c] *= factor[row];
      }
    }
    store_numbers(value, y + (row * columns + column));
  }
};

/// The transpose: row i of a sample gets factor * dy of the sample, or only its first row does
/// (`first_only`); rows of padding 0.
template <class T>
struct SpreadRows {
  const T* dy = nullptr;
  const T* factor = nullptr;
  const std::uint8_t* mask = nullptr;
  Index length = 1;
  bool first_only = false;
  T* dx = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index sample = row / length;
    Numbers<T, kWidth> value{};
    if (is_token(mask, row) && !(first_only && row != sample * length)) {
      value = load_numbers<T, kWidth>(dy + (sample * columns + column));
      if (factor != nullptr) {
        for (int c = 0; c < kWidth; ++c) value.values[c] *= factor[sample];
      }
    }
    store_numbers(value, dx + (row * columns + column));
  }
};

/// Tokens of a batch of samples and what pooling needs to know of them.
template <class T>
struct PoolContext {
  TokenPool pool = TokenPool::kMean;
  Index samples = 0;
  Index length = 0;
  Index width = 0;
  const std::uint8_t* mask = nullptr;
  const T* shares = nullptr;  ///< 1 / tokens of each sample, 0 without any; for the mean
};

/// Y: samples x pooled_width.
template <class T, class Queue>
void pool_tokens(Scratch<T, Queue>& scratch, const PoolContext<T>& context, const T* x, T* y) {
  const Queue& queue = scratch.queue();
  const Index rows = context.samples * context.length;
  switch (context.pool) {
    case TokenPool::kFlatten:
      for_each_piece<T>(
          queue, rows, context.width, TakeRows<T>{x, nullptr, context.mask, 1, y, context.width});
      break;
    case TokenPool::kCls:
      for_each_piece<T>(queue,
                        context.samples,
                        context.width,
                        TakeRows<T>{x, nullptr, context.mask, context.length, y, context.width});
      break;
    case TokenPool::kMean:
      column_sums(scratch, x, context.mask, context.samples, context.length, context.width, y);
      for_each_piece<T>(queue,
                        context.samples,
                        context.width,
                        TakeRows<T>{y, context.shares, nullptr, 1, y, context.width});
      break;
  }
}

/// dX from dY.
template <class T, class Queue>
void pool_tokens_backward(const Queue& queue, const PoolContext<T>& context, const T* dy, T* dx) {
  const Index rows = context.samples * context.length;
  if (context.pool == TokenPool::kFlatten) {
    for_each_piece<T>(
        queue, rows, context.width, TakeRows<T>{dy, nullptr, context.mask, 1, dx, context.width});
    return;
  }
  const bool cls = context.pool == TokenPool::kCls;
  for_each_piece<T>(queue,
                    rows,
                    context.width,
                    SpreadRows<T>{dy,
                                  cls ? nullptr : context.shares,
                                  context.mask,
                                  context.length,
                                  cls,
                                  dx,
                                  context.width});
}

}  // namespace matapprox::cuda
