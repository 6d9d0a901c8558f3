#pragma once

#include "device/cuda/kernels/reductions.hpp"
#include "elementwise.hpp"
#include "matapprox/attention/options.hpp"
#include "pass.hpp"

namespace matapprox::cuda {

/// Pooling of a sample: all rows one after the other, the first row, the mean of the tokens, the
/// largest entry of each column among the tokens, or both of these, the largest first. Padding
/// counts as 0 in the first two and is left out of the others. kNone is not supported.
using attention::Pool;

inline Index pooled_width(Pool pool, Index width, Index length) {
  if (pool == Pool::kFlatten) return width * length;
  return pool == Pool::kMaxMean ? 2 * width : width;
}

/// Row i of y = factor[i] times row i * stride of x. Rows of padding are 0. A null factor is 1.
/// Rows of y lie `distance` numbers apart.
template <class T>
struct TakeRows {
  const T* x = nullptr;
  const T* factor = nullptr;
  const std::uint8_t* mask = nullptr;
  Index stride = 1;
  T* y = nullptr;
  Index columns = 0;
  Index distance = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    Numbers<T, kWidth> value{};
    if (is_token(mask, row * stride)) {
      value = load_numbers<T, kWidth>(x + (row * stride * columns + column));
      if (factor != nullptr) {
        for (int c = 0; c < kWidth; ++c) value.values[c] *= factor[row];
      }
    }
    store_numbers(value, y + (row * distance + column));
  }
};

/// Finds the largest entry of each column among the tokens of a sample (the first of equal ones)
/// and its row, counted over all samples; 0 and -1 without tokens.
template <class T>
struct LargestOfTokens {
  static constexpr int kThreads = 256;
  static constexpr int kMaxLanes = 32;
  const T* x = nullptr;
  const std::uint8_t* mask = nullptr;
  Index samples = 0;
  Index length = 0;
  T* y = nullptr;
  std::int32_t* places = nullptr;
  Index columns = 0;
  Index distance = 0;  ///< distance between rows of y
  Index column_blocks = 0;
  int lanes = 0;

  struct SharedMemory {
    T largest[kThreads];
    Index rows[kThreads];
  };
  struct Registers {};

  Index blocks() const { return samples * column_blocks; }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }

  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index sample = place.block / column_blocks;
    const int own_row = place.thread / lanes;
    const Index column =
        (place.block - sample * column_blocks) * lanes + (place.thread - own_row * lanes);
    const int rows_at_a_time = kThreads / lanes;
    if (own_row >= rows_at_a_time || column >= columns) return;
    Index best = -1;
    T largest = T(0);
    for (Index row = sample * length + own_row; row < (sample + 1) * length;
         row += rows_at_a_time) {
      if (!is_token(mask, row)) continue;
      const T own = x[row * columns + column];
      if (best >= 0 && !(own > largest)) continue;
      best = row;
      largest = own;
    }
    shared.largest[place.thread] = largest;
    shared.rows[place.thread] = best;
  }

  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index sample = place.block / column_blocks;
    const Index column = (place.block - sample * column_blocks) * lanes + place.thread;
    if (place.thread >= lanes || column >= columns) return;
    Index best = -1;
    T largest = T(0);
    for (int r = 0; r < kThreads / lanes; ++r) {
      const int other = r * lanes + place.thread;
      const Index row = shared.rows[other];
      const T own = shared.largest[other];
      const bool equal = !(own > largest) && !(largest > own);
      if (row < 0 || (best >= 0 && !(own > largest) && !(equal && row < best))) continue;
      best = row;
      largest = own;
    }
    y[sample * distance + column] = largest;
    places[sample * columns + column] = static_cast<std::int32_t>(best);
  }
};

/// The transposes of TakeRows and LargestOfTokens. Each row of a sample (only the first if
/// `first_only`) receives factor times dy of the sample. The row of the largest entry of a column
/// receives d_largest. Null arrays are not added; a null factor is 1. Rows of padding are 0. Rows
/// of dy and d_largest lie `distance` numbers apart.
template <class T>
struct SpreadRows {
  const T* dy = nullptr;
  const T* factor = nullptr;
  const T* d_largest = nullptr;
  const std::int32_t* places = nullptr;
  const std::uint8_t* mask = nullptr;
  Index length = 1;
  bool first_only = false;
  T* dx = nullptr;
  Index columns = 0;
  Index distance = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index sample = row / length;
    Numbers<T, kWidth> value{};
    const bool gets = is_token(mask, row) && !(first_only && row != sample * length);
    if (gets && dy != nullptr) {
      value = load_numbers<T, kWidth>(dy + (sample * distance + column));
      if (factor != nullptr) {
        for (int c = 0; c < kWidth; ++c) value.values[c] *= factor[sample];
      }
    }
    if (gets && d_largest != nullptr) {
      for (int c = 0; c < kWidth; ++c) {
        if (places[sample * columns + column + c] == row)
          value.values[c] += d_largest[sample * distance + column + c];
      }
    }
    store_numbers(value, dx + (row * columns + column));
  }
};

/// joined = [u, v, |u - v|, u o v] for the pooled tokens u and v of two texts, which are
/// consecutive rows.
template <class T>
struct JoinTexts {
  const T* texts = nullptr;
  T* joined = nullptr;
  Index columns = 0;  ///< columns of a text

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const auto u = load_numbers<T, kWidth>(texts + (2 * row * columns + column));
    const auto v = load_numbers<T, kWidth>(texts + ((2 * row + 1) * columns + column));
    Numbers<T, kWidth> off{};
    Numbers<T, kWidth> along{};
    for (int c = 0; c < kWidth; ++c) {
      const T d = u.values[c] - v.values[c];
      off.values[c] = d < T(0) ? -d : d;
      along.values[c] = u.values[c] * v.values[c];
    }
    T* to = joined + (4 * row * columns + column);
    store_numbers(u, to);
    store_numbers(v, to + columns);
    store_numbers(off, to + 2 * columns);
    store_numbers(along, to + 3 * columns);
  }
};

/// du = d_1 + sign(u - v) o d_3 + v o d_4, dv = d_2 - sign(u - v) o d_3 + u o d_4.
template <class T>
struct JoinTextsBackward {
  const T* texts = nullptr;
  const T* d_joined = nullptr;
  T* d_texts = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = 2 * row * columns + column;
    const auto u = load_numbers<T, kWidth>(texts + at);
    const auto v = load_numbers<T, kWidth>(texts + (at + columns));
    const T* d = d_joined + (4 * row * columns + column);
    auto du = load_numbers<T, kWidth>(d);
    auto dv = load_numbers<T, kWidth>(d + columns);
    const auto d_off = load_numbers<T, kWidth>(d + 2 * columns);
    const auto d_along = load_numbers<T, kWidth>(d + 3 * columns);
    for (int c = 0; c < kWidth; ++c) {
      T sign = u.values[c] > v.values[c] ? T(1) : T(0);
      if (u.values[c] < v.values[c]) sign = T(-1);
      du.values[c] += sign * d_off.values[c] + v.values[c] * d_along.values[c];
      dv.values[c] += u.values[c] * d_along.values[c] - sign * d_off.values[c];
    }
    store_numbers(du, d_texts + at);
    store_numbers(dv, d_texts + (at + columns));
  }
};

/// A pooling layer. Stores the rows of the largest entries.
template <class T, class Queue>
class PoolLayer {
 public:
  PoolLayer(const Queue& queue, Pool pool, Index samples, Index width)
      : pool_(pool),
        width_(width),
        places_(queue.template array<std::int32_t>(has_largest() ? samples * width : 0)) {}

  /// Y is samples x pooled_width.
  void forward(const Pass<T, Queue>& pass, const T* x, T* y) {
    switch (pool_) {
      case Pool::kFlatten:
        take(pass, pass.rows(), {x, nullptr, pass.mask, 1, y, width_, width_});
        break;
      case Pool::kCls:
        take(pass, pass.sequences, {x, nullptr, pass.mask, pass.length, y, width_, width_});
        break;
      case Pool::kMean:
        take_mean(pass, x, y);
        break;
      case Pool::kMax:
        take_largest(pass, x, y);
        break;
      case Pool::kMaxMean:
        take_largest(pass, x, y);
        take_mean(pass, x, y + width_);
        break;
      case Pool::kNone:
        break;
    }
  }
  /// Computes dX from dY.
  void backward(const Pass<T, Queue>& pass, const T* dy, T* dx) const {
    if (pool_ == Pool::kFlatten) {
      take(pass, pass.rows(), {dy, nullptr, pass.mask, 1, dx, width_, width_});
      return;
    }
    SpreadRows<T> spread;
    spread.first_only = pool_ == Pool::kCls;
    if (has_largest()) {
      spread.d_largest = dy;
      spread.places = places_.data();
    }
    if (pool_ != Pool::kMax) spread.dy = pool_ == Pool::kMaxMean ? dy + width_ : dy;
    if (pool_ != Pool::kCls) spread.factor = pass.shares;
    spread.mask = pass.mask;
    spread.length = pass.length;
    spread.dx = dx;
    spread.columns = width_;
    spread.distance = distance();
    for_each_piece<T>(pass.queue(), pass.rows(), width_, spread);
  }

 private:
  using Places = decltype(std::declval<const Queue&>().template array<std::int32_t>(0));

  bool has_largest() const { return pool_ == Pool::kMax || pool_ == Pool::kMaxMean; }
  /// Distance between rows of Y, except for kFlatten.
  Index distance() const { return pooled_width(pool_, width_, 1); }
  void take(const Pass<T, Queue>& pass, Index rows, const TakeRows<T>& kernel) const {
    for_each_piece<T>(pass.queue(), rows, width_, kernel);
  }
  void take_mean(const Pass<T, Queue>& pass, const T* x, T* y) const {
    T* sums = pass.work->take(kPooledTokens, pass.sequences * width_);
    column_sums(*pass.scratch, x, pass.mask, pass.sequences, pass.length, width_, sums);
    take(pass, pass.sequences, {sums, pass.shares, nullptr, 1, y, width_, distance()});
  }
  void take_largest(const Pass<T, Queue>& pass, const T* x, T* y) {
    LargestOfTokens<T> kernel;
    kernel.x = x;
    kernel.mask = pass.mask;
    kernel.samples = pass.sequences;
    kernel.length = pass.length;
    kernel.y = y;
    kernel.places = places_.data();
    kernel.columns = width_;
    kernel.distance = distance();
    kernel.lanes = static_cast<int>(std::min<Index>(width_, LargestOfTokens<T>::kMaxLanes));
    kernel.column_blocks = ceil_div(width_, kernel.lanes);
    pass.queue().run(kernel);
  }

  Pool pool_;
  Index width_;
  Places places_;
};

}  // namespace matapprox::cuda
