#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "device/cuda/kernels/functions.hpp"
#include "device/cuda/kernels/tiles.hpp"

namespace matapprox::cuda {

/// Heads of a batch: tokens are samples x length rows of heads x width numbers, head h the columns
/// from h width on. Query i of a head sees the keys of its sample that are tokens, where causal
/// those up to i: s_ij = scale q_i . k_j.
struct HeadsShape {
  Index samples = 0;
  Index length = 0;
  Index heads = 1;
  Index width = 0;  ///< p, of a head
  double scale = 1;
  bool causal = false;
  const std::uint8_t* mask = nullptr;  ///< of samples x length keys, or null

  MATAPPROX_HD Index row_width() const { return heads * width; }
  MATAPPROX_HD Index problems() const { return samples * heads; }
  /// First number of a row of a head of a sample, problem = sample * heads + head.
  MATAPPROX_HD Index at(Index problem, Index row) const {
    const Index sample = problem / heads;
    return (sample * length + row) * row_width() + (problem - sample * heads) * width;
  }
  MATAPPROX_HD bool sees(Index problem, Index query, Index key) const {
    return key < length && !(causal && key > query) &&
           is_token(mask, problem / heads * length + key);
  }
};

/// How the kernels below share the work: a thread has one row (a query, or a key), whose kWidth
/// numbers stay in its registers; a block of threads reads the rows that these meet in tiles of
/// kTile, which its threads share. Columns from p on are 0.
template <class T, int kWidth>
struct HeadTiles {
  static constexpr int kThreads = 128;
  /// 32 KiB in double for two arrays.
  static constexpr int kTile = kWidth <= 32 ? 64 : 2048 / kWidth;  // <= kThreads
  static constexpr auto kColumns = static_cast<std::size_t>(kWidth);
  static constexpr auto kNumbers =
      static_cast<std::size_t>(kTile) * static_cast<std::size_t>(kWidth);

  static MATAPPROX_HD Index blocks_of(Index length) { return ceil_div(length, kThreads); }
  static MATAPPROX_HD int tiles_of(Index length) {
    return static_cast<int>(ceil_div(length, kTile));
  }
  /// The head and the row of a thread, which may be beyond the last one.
  static MATAPPROX_HD void find(const HeadsShape& shape, Place place, Index& problem, Index& row) {
    const Index blocks = blocks_of(shape.length);
    problem = place.block / blocks;
    row = (place.block - problem * blocks) * kThreads + place.thread;
  }
  /// Rows first.. of a head, or zeros, to a shared tile.
  static MATAPPROX_HD void fill(
      const HeadsShape& shape, Index problem, Index first, int thread, const T* from, T* tile) {
    for (int t = thread; t < kTile * kWidth; t += kThreads) {
      const int row = t / kWidth;
      const int column = t - row * kWidth;
      const bool there = first + row < shape.length && column < shape.width;
      tile[t] = there ? from[shape.at(problem, first + row) + column] : T(0);
    }
  }
  static MATAPPROX_HD void load(
      const HeadsShape& shape, Index problem, Index row, const T* from, T* numbers) {
    const T* own = from + shape.at(problem, row);
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) numbers[c] = c < shape.width ? own[c] : T(0);
  }
  static MATAPPROX_HD void store(
      const HeadsShape& shape, Index problem, Index row, const T* numbers, T* to, T factor = 1) {
    T* own = to + shape.at(problem, row);
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) {
      if (c < shape.width) own[c] = factor * numbers[c];
    }
  }
  static MATAPPROX_HD T dot(const T* a, const T* b) {
    T sum = 0;
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) sum += a[c] * b[c];
    return sum;
  }
  static MATAPPROX_HD void add(T factor, const T* x, T* y) {
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) y[c] += factor * x[c];
  }
};

/// What kernels with a query for each thread have in common: keys and values come in tiles.
template <class T, int kWidth>
struct SoftmaxQueries {
  using Tiles = HeadTiles<T, kWidth>;
  static constexpr int kThreads = Tiles::kThreads;

  HeadsShape shape;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;

  struct Shared {
    T k[Tiles::kNumbers];
    T v[Tiles::kNumbers];
  };
  struct Query {
    T q[Tiles::kColumns];
    Index problem;
    Index query;
  };

  Index blocks() const { return shape.problems() * Tiles::blocks_of(shape.length); }
  /// Where causal, keys behind the last query of the block are not read.
  MATAPPROX_HD int steps(Place place) const {
    const Index first = place.block % Tiles::blocks_of(shape.length) * kThreads;
    const Index last = first + kThreads < shape.length ? first + kThreads : shape.length;
    return Tiles::tiles_of(shape.causal ? last : shape.length);
  }
  /// False: the thread has no query.
  MATAPPROX_HD bool find(Place place, Query& own) const {
    Tiles::find(shape, place, own.problem, own.query);
    if (own.query >= shape.length) return false;
    Tiles::load(shape, own.problem, own.query, q, own.q);
    return true;
  }
  MATAPPROX_HD void fill(Place place, int step, Shared& shared, const Query& own) const {
    const Index first = static_cast<Index>(step) * Tiles::kTile;
    Tiles::fill(shape, own.problem, first, place.thread, k, shared.k);
    Tiles::fill(shape, own.problem, first, place.thread, v, shared.v);
  }
  /// Number of a query among all of its batch.
  MATAPPROX_HD Index number(const Query& own) const {
    return own.problem * shape.length + own.query;
  }
};

/// H_i = sum_j exp(s_ij) v_j / sum_j exp(s_ij), 0 where a query sees no key, and the logarithm of
/// that sum (0 there). Keys come in tiles, with a running maximum and sum; a larger score shrinks
/// what was there before. [RS21; DFE+22, Alg. 1]
template <class T, int kWidth>
struct SoftmaxForward : SoftmaxQueries<T, kWidth> {
  using Queries = SoftmaxQueries<T, kWidth>;
  using Queries::shape;
  using typename Queries::Shared;
  using typename Queries::Tiles;
  /// Keys between two updates of the maximum; their scores are in registers too.
  static constexpr int kAtOnce = sizeof(T) == 8 ? 4 : 8;

  T* h = nullptr;
  T* log_sums = nullptr;  ///< samples x heads x length

  struct Local : Queries::Query {
    T h[Tiles::kColumns];
    T largest;
    T sum;
  };

  MATAPPROX_HD void begin(Place place, Local& own) const {
    this->find(place, own);
    own.largest = minus_infinity<T>();
    own.sum = 0;
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) own.h[c] = 0;
  }
  MATAPPROX_HD void use(Place, int step, Shared& shared, Local& own) const {
    if (own.query >= shape.length) return;
    for (int first = 0; first < Tiles::kTile; first += kAtOnce) {
      T scores[kAtOnce];
      T largest = own.largest;
      MATAPPROX_UNROLL
      for (int j = 0; j < kAtOnce; ++j) {
        const Index key = static_cast<Index>(step) * Tiles::kTile + first + j;
        scores[j] =
            shape.sees(own.problem, own.query, key)
                ? static_cast<T>(shape.scale) * Tiles::dot(own.q, shared.k + (first + j) * kWidth)
                : minus_infinity<T>();
        largest = scores[j] > largest ? scores[j] : largest;
      }
      // No key yet.
      if (!(largest > minus_infinity<T>())) continue;
      const T shrink = exp_of(own.largest - largest);
      own.largest = largest;
      own.sum *= shrink;
      MATAPPROX_UNROLL
      for (int c = 0; c < kWidth; ++c) own.h[c] *= shrink;
      MATAPPROX_UNROLL
      for (int j = 0; j < kAtOnce; ++j) {
        const T weight = exp_of(scores[j] - largest);
        own.sum += weight;
        Tiles::add(weight, shared.v + (first + j) * kWidth, own.h);
      }
    }
  }
  MATAPPROX_HD void end(Place, const Local& own) const {
    if (own.query >= shape.length) return;
    const bool any = own.largest > minus_infinity<T>();
    log_sums[this->number(own)] = any ? own.largest + log_of(own.sum) : T(0);
    Tiles::store(shape, own.problem, own.query, own.h, h, any ? 1 / own.sum : T(0));
  }
};

/// With P = softmax(S) made again from the logarithms of the sums and mean_i = dH_i . H_i:
/// dQ = scale [P o (dH V^T - mean 1^T)] K. Leaves the means for SoftmaxKeyGradient.
template <class T, int kWidth>
struct SoftmaxQueryGradient : SoftmaxQueries<T, kWidth> {
  using Queries = SoftmaxQueries<T, kWidth>;
  using Queries::shape;
  using typename Queries::Shared;
  using typename Queries::Tiles;

  const T* h = nullptr;
  const T* dh = nullptr;
  const T* log_sums = nullptr;
  T* means = nullptr;
  T* dq = nullptr;

  struct Local : Queries::Query {
    T dh[Tiles::kColumns];
    T dq[Tiles::kColumns];
    T log_sum;
    T mean;
  };

  MATAPPROX_HD void begin(Place place, Local& own) const {
    if (!this->find(place, own)) return;
    Tiles::load(shape, own.problem, own.query, dh, own.dh);
    Tiles::load(shape, own.problem, own.query, h, own.dq);
    own.mean = Tiles::dot(own.dq, own.dh);
    own.log_sum = log_sums[this->number(own)];
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) own.dq[c] = 0;
  }
  MATAPPROX_HD void use(Place, int step, Shared& shared, Local& own) const {
    if (own.query >= shape.length) return;
    const T scale = static_cast<T>(shape.scale);
    for (int j = 0; j < Tiles::kTile; ++j) {
      const Index key = static_cast<Index>(step) * Tiles::kTile + j;
      if (!shape.sees(own.problem, own.query, key)) continue;
      const T* key_row = shared.k + j * kWidth;
      const T p = exp_of(scale * Tiles::dot(own.q, key_row) - own.log_sum);
      const T ds = p * (Tiles::dot(own.dh, shared.v + j * kWidth) - own.mean);
      Tiles::add(scale * ds, key_row, own.dq);
    }
  }
  MATAPPROX_HD void end(Place, const Local& own) const {
    if (own.query >= shape.length) return;
    means[this->number(own)] = own.mean;
    Tiles::store(shape, own.problem, own.query, own.dq, dq);
  }
};

/// dV = P^T dH and dK = scale [P o (dH V^T - mean 1^T)]^T Q, a thread for each key: no two threads
/// add to the same number.
template <class T, int kWidth>
struct SoftmaxKeyGradient {
  using Tiles = HeadTiles<T, kWidth>;
  static constexpr int kThreads = Tiles::kThreads;

  HeadsShape shape;
  const T* q = nullptr;
  const T* k = nullptr;
  const T* v = nullptr;
  const T* dh = nullptr;
  const T* log_sums = nullptr;
  const T* means = nullptr;
  T* dk = nullptr;
  T* dv = nullptr;

  struct Shared {
    T q[Tiles::kNumbers];
    T dh[Tiles::kNumbers];
    T log_sums[static_cast<std::size_t>(Tiles::kTile)];
    T means[static_cast<std::size_t>(Tiles::kTile)];
  };
  struct Local {
    T k[Tiles::kColumns];
    T v[Tiles::kColumns];
    T dk[Tiles::kColumns];
    T dv[Tiles::kColumns];
    Index problem;
    Index key;
    Index first;  ///< query that the block begins with
  };

  Index blocks() const { return shape.problems() * Tiles::blocks_of(shape.length); }
  /// Where causal, queries before the first key of the block are not read.
  MATAPPROX_HD Index first_query(Place place) const {
    const Index first = place.block % Tiles::blocks_of(shape.length) * kThreads;
    return shape.causal ? first : 0;
  }
  MATAPPROX_HD int steps(Place place) const {
    return Tiles::tiles_of(shape.length - first_query(place));
  }
  MATAPPROX_HD void begin(Place place, Local& own) const {
    Tiles::find(shape, place, own.problem, own.key);
    own.first = first_query(place);
    if (own.key >= shape.length) return;
    Tiles::load(shape, own.problem, own.key, k, own.k);
    Tiles::load(shape, own.problem, own.key, v, own.v);
    MATAPPROX_UNROLL
    for (int c = 0; c < kWidth; ++c) own.dk[c] = own.dv[c] = 0;
  }
  MATAPPROX_HD void fill(Place place, int step, Shared& shared, Local& own) const {
    const Index first = own.first + static_cast<Index>(step) * Tiles::kTile;
    Tiles::fill(shape, own.problem, first, place.thread, q, shared.q);
    Tiles::fill(shape, own.problem, first, place.thread, dh, shared.dh);
    if (place.thread >= Tiles::kTile || first + place.thread >= shape.length) return;
    const Index at = own.problem * shape.length + first + place.thread;
    shared.log_sums[place.thread] = log_sums[at];
    shared.means[place.thread] = means[at];
  }
  MATAPPROX_HD void use(Place, int step, Shared& shared, Local& own) const {
    if (own.key >= shape.length) return;
    const T scale = static_cast<T>(shape.scale);
    for (int i = 0; i < Tiles::kTile; ++i) {
      const Index query = own.first + static_cast<Index>(step) * Tiles::kTile + i;
      if (query >= shape.length || !shape.sees(own.problem, query, own.key)) continue;
      const T* query_row = shared.q + i * kWidth;
      const T* dh_row = shared.dh + i * kWidth;
      const T p = exp_of(scale * Tiles::dot(query_row, own.k) - shared.log_sums[i]);
      Tiles::add(p, dh_row, own.dv);
      const T ds = p * (Tiles::dot(dh_row, own.v) - shared.means[i]);
      Tiles::add(scale * ds, query_row, own.dk);
    }
  }
  MATAPPROX_HD void end(Place, const Local& own) const {
    if (own.key >= shape.length) return;
    Tiles::store(shape, own.problem, own.key, own.dk, dk);
    Tiles::store(shape, own.problem, own.key, own.dv, dv);
  }
};

/// function(std::integral_constant<int, width>) for the registers that a head needs. Throws
/// std::invalid_argument for one wider than 64: a thread's rows would not stay in its registers.
template <class Function>
void with_head_width(Index width, const Function& function) {
  if (width <= 8) return function(std::integral_constant<int, 8>{});
  if (width <= 16) return function(std::integral_constant<int, 16>{});
  if (width <= 32) return function(std::integral_constant<int, 32>{});
  if (width <= 64) return function(std::integral_constant<int, 64>{});
  throw std::invalid_argument("softmax on a device: a head of width " + std::to_string(width) +
                              " is outside 1..64; more heads make it narrower");
}

/// Softmax attention of a batch; nothing of the size N^2 is stored. 2 N^2 p multiplications a head;
/// log_sums: samples x heads x length.
template <class T, class Queue>
void softmax_attention(const Queue& queue,
                       const HeadsShape& shape,
                       const T* q,
                       const T* k,
                       const T* v,
                       T* h,
                       T* log_sums) {
  with_head_width(shape.width, [&](auto width) {
    queue.run(SoftmaxForward<T, decltype(width)::value>{{shape, q, k, v}, h, log_sums});
  });
}

/// Sets dQ, dK and dV from dH, after softmax_attention; 7 N^2 p multiplications a head. `means` is
/// of the size of log_sums and any value.
template <class T, class Queue>
void softmax_attention_backward(const Queue& queue,
                                const HeadsShape& shape,
                                const T* q,
                                const T* k,
                                const T* v,
                                const T* h,
                                const T* dh,
                                const T* log_sums,
                                T* means,
                                T* dq,
                                T* dk,
                                T* dv) {
  with_head_width(shape.width, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    queue.run(SoftmaxQueryGradient<T, kWidth>{{shape, q, k, v}, h, dh, log_sums, means, dq});
    queue.run(SoftmaxKeyGradient<T, kWidth>{shape, q, k, v, dh, log_sums, means, dk, dv});
  });
}

}  // namespace matapprox::cuda
