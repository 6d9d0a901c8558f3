#pragma once

#include <algorithm>
#include <limits>

#include "layer_norm.hpp"
#include "multi_head.hpp"

namespace matapprox::cuda {

/// Assignment of threads to rows of scores. With 16 lanes, the four words of one dropout counter
/// serve the four columns that a thread has in each block of 64.
struct ScoreLanes {
  static constexpr int kThreads = 256;
  static constexpr int kLanes = 16;
  static constexpr int kRows = kThreads / kLanes;
  static constexpr Index kBlock = 64;  ///< columns
};

/// Determines which attention probabilities of a head are dropped, as in the library's
/// ProbabilityDropout (docs/random.md).
struct ProbabilityMask {
  std::uint64_t limit = 0;  ///< 0: none is dropped
  std::uint64_t seed = 1;
  SampleNumbers numbers;
  Index samples = 1;
  Index layer = 0;

  /// Key of the matrix with this number. The matrices of all samples of a head follow each other,
  /// head after head.
  MATAPPROX_HD std::uint64_t key(Index matrix) const {
    const Index head = matrix / samples;
    const RandomWords words = random_words_of(seed,
                                              attention::kAttentionDropoutStream,
                                              numbers.of(matrix - head * samples),
                                              (layer << attention::kLayerShift) | head);
    return std::uint64_t{words.values[0]} | (std::uint64_t{words.values[1]} << 32);
  }
};

/// Scores of queries against some of the keys, for each head and sample.
template <class T>
struct ScoreTile {
  T* scores = nullptr;  ///< matrices x queries x stride
  Index stride = 0;
  Index matrices = 0;
  Index queries = 0;      ///< queries of each matrix
  Index first_query = 0;  ///< queries before it attend to none of these keys
  Index first_key = 0;    ///< a multiple of 64
  Index keys = 0;         ///< keys of this tile
  Index samples = 1;
  Index mask_length = 0;               ///< keys of a sample
  const std::uint8_t* mask = nullptr;  ///< mask of the keys, or null
  bool causal = false;
  ProbabilityMask dropout;
  T keep_scale = 1;

  MATAPPROX_HD Index rows() const { return matrices * (queries - first_query); }
  /// Returns the row among the rows of all matrices, and sets `matrix` and `query`. `row` counts
  /// only the rows that attend to keys of this tile.
  MATAPPROX_HD Index place(Index row, Index& matrix, Index& query) const {
    const Index own = queries - first_query;
    matrix = row / own;
    query = first_query + (row - matrix * own);
    return matrix * queries + query;
  }
  MATAPPROX_HD bool counts(Index matrix, Index query, Index key) const {
    if (key >= keys || (causal && first_key + key > query)) return false;
    return is_token(mask, (matrix % samples) * mask_length + first_key + key);
  }
  /// Calls function(key, true if it is kept) for the keys of this lane that count.
  template <class Function>
  MATAPPROX_HD void for_keys(
      Index matrix, Index query, int lane, bool drop, const Function& function) const {
    const bool drops = drop && dropout.limit > 0;
    const std::uint64_t key = drops ? dropout.key(matrix) : 0;
    for (Index first = 0; first < keys; first += ScoreLanes::kBlock) {
      RandomWords words{};
      if (drops) {
        words = random_words_of(
            key, attention::kAttentionDropoutStream, query, (first_key + first) / 4 + lane);
      }
      for (int q = 0; q < 4; ++q) {
        const Index own = first + Index{q} * ScoreLanes::kLanes + lane;
        if (counts(matrix, query, own)) function(own, !drops || words.values[q] >= dropout.limit);
      }
    }
  }
};

/// One tile of an online softmax. m is the largest score of the previous tiles, and l the sum of
/// their exp(score - m). The scores become exp(score - m') o M, where m' is the largest score so
/// far and M the dropout mask; l and the rows of h are rescaled to m'. [RS21; DFE+22]
template <class T>
struct SoftmaxTile {
  static constexpr int kThreads = ScoreLanes::kThreads;
  static constexpr int kLanes = ScoreLanes::kLanes;
  ScoreTile<T> tile;
  bool first = true;  ///< no tiles precede this one
  T* largest = nullptr;
  T* sums = nullptr;
  T* h = nullptr;
  Index columns = 0;  ///< columns of h

  struct SharedMemory {
    T parts[kThreads];
  };
  struct Registers {
    T before;
    T now;
  };
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  Index blocks() const { return ceil_div(tile.rows(), ScoreLanes::kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return 2; }
  MATAPPROX_HD void begin(GridPosition place, Registers& own) const {
    Index matrix = 0;
    Index query = 0;
    const Index row = place.block * ScoreLanes::kRows + place.thread / kLanes;
    own.before = kNone;
    own.now = kNone;
    if (row >= tile.rows() || first) return;
    own.before = largest[tile.place(row, matrix, query)];
  }
  MATAPPROX_HD void fill(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index row = place.block * ScoreLanes::kRows + place.thread / kLanes;
    if (row >= tile.rows()) return;
    Index matrix = 0;
    Index query = 0;
    T* scores = tile.scores + tile.place(row, matrix, query) * tile.stride;
    const int lane = place.thread % kLanes;
    if (step == 0) {
      T most = kNone;
      tile.for_keys(matrix, query, lane, false, [&](Index key, bool) {
        most = scores[key] > most ? scores[key] : most;
      });
      shared.parts[place.thread] = most;
      return;
    }
    T sum = 0;
    for (Index key = lane; key < tile.keys; key += kLanes) {
      if (!tile.counts(matrix, query, key)) scores[key] = T(0);
    }
    tile.for_keys(matrix, query, lane, true, [&](Index key, bool kept) {
      const T p = exp_of(scores[key] - own.now);
      sum += p;
      scores[key] = kept ? p * tile.keep_scale : T(0);
    });
    shared.parts[place.thread] = sum;
  }
  MATAPPROX_HD void use(GridPosition place, int step, SharedMemory& shared, Registers& own) const {
    const Index row = place.block * ScoreLanes::kRows + place.thread / kLanes;
    if (row >= tile.rows()) return;
    const int lane = place.thread % kLanes;
    const T* parts = shared.parts + (place.thread - lane);
    if (step == 0) {
      own.now = own.before;
      for (int l = 0; l < kLanes; ++l) own.now = parts[l] > own.now ? parts[l] : own.now;
      return;
    }
    Index matrix = 0;
    Index query = 0;
    const Index at = tile.place(row, matrix, query);
    const T factor = own.before > kNone ? exp_of(own.before - own.now) : T(0);
    if (lane == 0) {
      T sum = parts[0];
      for (int l = 1; l < kLanes; ++l) sum += parts[l];
      largest[at] = own.now;
      sums[at] = first ? sum : sums[at] * factor + sum;
    }
    if (first) return;
    for (Index c = lane; c < columns; c += kLanes) h[at * columns + c] *= factor;
  }
};

/// Last step after all tiles: h / l, and m + log l, from which the backward pass recomputes the
/// probabilities. Both are 0 for a row without keys.
template <class T>
struct SoftmaxEnd {
  const T* largest = nullptr;
  const T* sums = nullptr;
  T* log_sums = nullptr;
  T* h = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const bool empty = sums[row] == T(0);
    if (column == 0) log_sums[row] = empty ? T(0) : largest[row] + log_of(sums[row]);
    auto numbers = load_numbers<T, kWidth>(h + (row * columns + column));
    const T factor = empty ? T(0) : T(1) / sums[row];
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= factor;
    store_numbers(numbers, h + (row * columns + column));
  }
};

/// dots[row] = <a, b> of each row.
template <class T>
struct RowDots {
  static constexpr int kThreads = RowLanes::kThreads;
  const T* a = nullptr;
  const T* b = nullptr;
  T* dots = nullptr;
  Index rows = 0;
  Index columns = 0;

  struct SharedMemory {
    T parts[kThreads];
  };
  struct Registers {};

  Index blocks() const { return ceil_div(rows, RowLanes::kRows); }
  MATAPPROX_HD int steps(GridPosition) const { return 1; }
  MATAPPROX_HD void fill(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row >= rows) return;
    T sum = 0;
    for (Index c = RowLanes::lane(place); c < columns; c += RowLanes::kLanes)
      sum += a[row * columns + c] * b[row * columns + c];
    shared.parts[place.thread] = sum;
  }
  MATAPPROX_HD void use(GridPosition place, int, SharedMemory& shared, Registers&) const {
    const Index row = RowLanes::row(place);
    if (row < rows && RowLanes::lane(place) == 0) dots[row] = RowLanes::sum(place, shared.parts);
  }
};

/// Recomputes P = exp(score - log sum). The scores become P o M, and `d`, which holds dH V^T,
/// becomes scale P o (d o M - <dH, H>). Both are 0 for keys that do not count.
template <class T>
struct SoftmaxTileBackward {
  static constexpr int kThreads = ScoreLanes::kThreads;
  static constexpr int kLanes = ScoreLanes::kLanes;
  ScoreTile<T> tile;
  T* d = nullptr;
  const T* log_sums = nullptr;
  const T* dots = nullptr;
  T scale = 1;

  Index blocks() const { return ceil_div(tile.rows(), ScoreLanes::kRows); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index row = place.block * ScoreLanes::kRows + place.thread / kLanes;
    if (row >= tile.rows()) return;
    const int lane = place.thread % kLanes;
    Index matrix = 0;
    Index query = 0;
    const Index at = tile.place(row, matrix, query);
    T* scores = tile.scores + at * tile.stride;
    T* own = d + at * tile.stride;
    for (Index key = lane; key < tile.keys; key += kLanes) {
      if (tile.counts(matrix, query, key)) continue;
      scores[key] = T(0);
      own[key] = T(0);
    }
    tile.for_keys(matrix, query, lane, true, [&](Index key, bool kept) {
      const T p = exp_of(scores[key] - log_sums[at]);
      const T keep = kept ? tile.keep_scale : T(0);
      own[key] = scale * p * (own[key] * keep - dots[at]);
      scores[key] = p * keep;
    });
  }
};

struct SoftmaxShape {
  Index samples = 0;
  Index heads = 1;
  Index queries = 0;
  Index keys = 0;
  Index width = 0;  ///< width of a head
  bool causal = false;
  bool masked = true;  ///< keys are tokens, some of them padding
  double dropout = 0;
  Index layer = 0;
  Index tile = 0;

  Index matrices() const { return heads * samples; }
  Index rows() const { return matrices() * queries; }
};

/// Number of keys of a tile: shape.tile or, if that is 0, as many as give 2^26 scores, at least 64
/// and at most 1024.
inline Index tile_keys(const SoftmaxShape& shape) {
  constexpr Index kNumbers = Index{1} << 26;
  constexpr Index kMax = 1024;
  constexpr Index kBlock = ScoreLanes::kBlock;
  const Index by_size = std::clamp(kNumbers / shape.rows() / kBlock * kBlock, kBlock, kMax);
  const Index tile = shape.tile > 0 ? shape.tile : by_size;
  return std::min(tile, ceil_div(shape.keys, kBlock) * kBlock);
}

/// Softmax attention of all heads and samples, one tile of keys at a time. A batch of products
/// computes the scores of a tile, a kernel turns them into probabilities, and another batch
/// multiplies these by the values. Two tiles of rows x tile numbers are working memory; one number
/// per row is stored for the backward pass.
template <class T, class Queue>
class TiledSoftmax {
 public:
  TiledSoftmax(const Queue& queue, const SoftmaxShape& shape)
      : shape_(shape), tile_(tile_keys(shape)), log_sums_(queue.template array<T>(shape.rows())) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) {
    const Queue& queue = pass.queue();
    SoftmaxTile<T> kernel;
    kernel.largest = pass.work->take(kSoftmaxLargest, shape_.rows());
    kernel.sums = pass.work->take(kSoftmaxSums, shape_.rows());
    kernel.h = h;
    kernel.columns = shape_.width;
    T* scores = pass.work->take(kSoftmaxTile, shape_.rows() * tile_);
    for (Index first = 0; first < shape_.keys; first += tile_) {
      kernel.tile = tile_from(pass, first, scores);
      kernel.first = first == 0;
      queue.gemm(tile_scores(kernel.tile, in.query, in.key, scale()));
      queue.run(kernel);
      queue.gemm(tile_times_keys(kernel.tile, in.value, h, first > 0));
    }
    for_each_piece<T>(
        queue,
        shape_.rows(),
        shape_.width,
        SoftmaxEnd<T>{kernel.largest, kernel.sums, log_sums_.data(), h, shape_.width});
  }

  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) {
    const Queue& queue = pass.queue();
    T* dots = pass.work->take(kSoftmaxDots, shape_.rows());
    queue.run(RowDots<T>{dh, h, dots, shape_.rows(), shape_.width});
    T* scores = pass.work->take(kSoftmaxTile, shape_.rows() * tile_);
    T* d_scores = pass.work->take(kSoftmaxTileGradient, shape_.rows() * tile_);
    for (Index first = 0; first < shape_.keys; first += tile_) {
      const ScoreTile<T> tile = tile_from(pass, first, scores);
      ScoreTile<T> d_tile = tile;
      d_tile.scores = d_scores;
      queue.gemm(tile_scores(tile, in.query, in.key, scale()));
      queue.gemm(tile_scores(d_tile, dh, in.value, T(1)));
      queue.run(SoftmaxTileBackward<T>{tile, d_scores, log_sums_.data(), dots, scale()});
      queue.gemm(tile_times_queries(tile, dh, d.value));
      queue.gemm(tile_times_queries(d_tile, in.query, d.key));
      queue.gemm(tile_times_keys(d_tile, in.key, d.query, first > 0));
    }
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));

  T scale() const { return T(1) / sqrt_of(static_cast<T>(shape_.width)); }
  ScoreTile<T> tile_from(const Pass<T, Queue>& pass, Index first, T* scores) const {
    ScoreTile<T> tile;
    tile.scores = scores;
    tile.stride = tile_;
    tile.matrices = shape_.matrices();
    tile.queries = shape_.queries;
    tile.first_query = shape_.causal ? first : 0;
    tile.first_key = first;
    tile.keys = std::min(tile_, shape_.keys - first);
    tile.samples = shape_.samples;
    tile.mask_length = shape_.keys;
    tile.mask = shape_.masked ? pass.mask : nullptr;
    tile.causal = shape_.causal;
    tile.dropout.limit = dropout_limit(shape_.dropout);
    tile.dropout.seed = pass.seed;
    tile.dropout.numbers = pass.numbers;
    tile.dropout.samples = shape_.samples;
    tile.dropout.layer = shape_.layer;
    if (shape_.dropout > 0) tile.keep_scale = T(1 / (1 - shape_.dropout));
    return tile;
  }
  Gemm<T> with_strides(Gemm<T> gemm, Index a, Index b, Index c) const {
    return in_batch(gemm, shape_.matrices(), a, b, c);
  }
  /// The product scores = alpha a b^T of the rows of `a` and those of the tile's keys in `b`.
  Gemm<T> tile_scores(const ScoreTile<T>& tile, const T* a, const T* b, T alpha) const {
    const Index p = shape_.width;
    Gemm<T> gemm = product_nt(tile.queries - tile.first_query,
                              tile.keys,
                              p,
                              a + tile.first_query * p,
                              p,
                              b + tile.first_key * p,
                              p,
                              tile.scores + tile.first_query * tile.stride,
                              tile.stride);
    gemm.alpha = alpha;
    return with_strides(gemm, shape_.queries * p, shape_.keys * p, shape_.queries * tile.stride);
  }
  /// The product `to` = tile x the rows of its keys in `b`, or `to` += it. `to` has a row per
  /// query.
  Gemm<T> tile_times_keys(const ScoreTile<T>& tile, const T* b, T* to, bool add) const {
    const Index p = shape_.width;
    Gemm<T> gemm = product(tile.queries - tile.first_query,
                           p,
                           tile.keys,
                           tile.scores + tile.first_query * tile.stride,
                           tile.stride,
                           b + tile.first_key * p,
                           p,
                           to + tile.first_query * p,
                           p);
    gemm.beta = add ? T(1) : T(0);
    return with_strides(gemm, shape_.queries * tile.stride, shape_.keys * p, shape_.queries * p);
  }
  /// The product tile^T x the rows of its queries in `b`, for the rows of its keys in `to`.
  Gemm<T> tile_times_queries(const ScoreTile<T>& tile, const T* b, T* to) const {
    const Index p = shape_.width;
    const Gemm<T> gemm = product_tn(tile.keys,
                                    p,
                                    tile.queries - tile.first_query,
                                    tile.scores + tile.first_query * tile.stride,
                                    tile.stride,
                                    b + tile.first_query * p,
                                    p,
                                    to + tile.first_key * p,
                                    p);
    return with_strides(gemm, shape_.queries * tile.stride, shape_.queries * p, shape_.keys * p);
  }

  SoftmaxShape shape_;
  Index tile_;
  Array log_sums_;
};

/// H = softmax(Q K^T / sqrt(p)) V.
template <class T, class Queue>
class SoftmaxCore final : public HeadCore<T, Queue> {
 public:
  SoftmaxCore(const Queue& queue, const SoftmaxShape& shape) : softmax_(queue, shape) {}
  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    softmax_.forward(pass, in, h);
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) override {
    softmax_.backward(pass, in, h, dh, d);
  }

 private:
  TiledSoftmax<T, Queue> softmax_;
};

}  // namespace matapprox::cuda
