#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>
#include <type_traits>

#include "attention/kernels/softmax_tiles.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/attention/layers/head_core.hpp"

namespace matapprox::attention {

/// The tiles of keys that each tile of queries attends to. Tiles are size() tokens wide; the last
/// one may be narrower.
class TilePattern {
 public:
  virtual ~TilePattern() = default;
  virtual Index size() const = 0;
  /// Tile size for packed chunks of keys, which are packed once for each tile of queries.
  virtual Index packed_size() const { return size(); }
  /// True if queries of tile i attend to keys of tile j, of `tiles` tiles in all.
  virtual bool meets(Index head, Index i, Index j, Index tiles) const = 0;
};

/// All pairs of tiles, with tiles of whole runs of queries and whole chunks of keys.
class AllTiles final : public TilePattern {
 public:
  Index size() const override { return 192; }
  Index packed_size() const override { return 512; }
  bool meets(Index /*head*/, Index /*i*/, Index /*j*/, Index /*tiles*/) const override {
    return true;
  }
};

// Array of the cache: the binary logarithm of each row's sum of exponentials.
inline constexpr Index kLogSums = 0;

/// Softmax attention, H_i = sum_j exp(s_ij) v_j / sum_j exp(s_ij), s_ij = q_i . k_j / sqrt(p), over
/// the tokens j in the tiles that query i attends to; H_i is 0 if there are none. The scores of a
/// run of queries are computed one chunk of keys at a time, with a running maximum and sum. The
/// backward pass recomputes them from the stored logarithms of the sums: O(N) numbers besides Q, K,
/// V and H. [RS21; DFE+22, Alg. 1]
///
/// Keys and values need not be those of the tokens (Linformer's mixtures): then there is no mask,
/// and their number is arbitrary.
template <class T>
class TiledSoftmaxCore final : public HeadCore<T> {
 public:
  TiledSoftmaxCore(const AttentionShape& shape, std::unique_ptr<TilePattern> pattern)
      : head_width_(shape.head_width()),
        causal_(shape.causal),
        dropout_(shape),
        pattern_(std::move(pattern)) {}

  void forward(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const override;
  void backward(Context<T> context,
                HeadInputs<T> in,
                In<T> H,
                In<T> dH,
                HeadGradients<T> d,
                Cache<T>& cache) const override;
  /// Cost of head 0.
  AttentionCost cost(Index length, Index width) const override {
    AttentionCost cost{0, length};
    const Index size = pattern_->size();
    const Index tiles = (length + size - 1) / size;
    for (Index a = 0; a < tiles; ++a) {
      for (Index b = 0; b < (causal_ ? a + 1 : tiles); ++b) {
        if (!pattern_->meets(0, a, b, tiles)) continue;
        cost.multiplications +=
            2 * std::min(size, length - a * size) * std::min(size, length - b * size) * width;
      }
    }
    return cost;
  }

 private:
  static constexpr Index kChunk = kernels::kChunkKeys;
  static constexpr Index kRounding = 8;  // kernels write rows in multiples of this
  static constexpr std::size_t kMaxRun = std::size_t{256} / sizeof(T);  // queries
  /// Queries i .. i + rows - 1, in arrays of width W. `number` is the number of the run in its
  /// tile.
  struct Run {
    Index number;
    Index i;
    Index rows;
    Index width;
  };
  struct RunShape {
    Index lanes;    ///< queries per vector
    Index vectors;  ///< largest number of vectors in a run
  };
  static RunShape tile_runs() {
    return {kernels::softmax_tiles<T>().lanes, kernels::softmax_tiles<T>().vectors};
  }
  // A run below these sizes gains nothing from packing, which fills up blocks with zeros.
  static constexpr Index kMinPackedWidth = 32;
  static constexpr Index kMinPackedKeys = 32;
  static constexpr RunShape kBlockRuns = {kernels::SoftmaxBlocks::kRun, 1};
  /// Calls function(run) for the runs of queries first .. last - 1.
  template <class Function>
  static void for_each_run(const RunShape& shape,
                           Index first,
                           Index last,
                           const Function& function) {
    Index number = 0;
    for (Index i = first; i < last; ++number) {
      const Index left = (last - i + shape.lanes - 1) / shape.lanes;
      // Four vectors are split into two runs of two, which take less time than three and one.
      const Index vectors =
          left == shape.vectors + 1 ? (left + 1) / 2 : std::min(left, shape.vectors);
      const Index width = vectors * shape.lanes;
      const Index rows = std::min(width, last - i);
      function(Run{number, i, rows, width});
      i += rows;
    }
  }
  static Index runs_of(Index queries) {
    Index count = 0;
    for_each_run(tile_runs(), 0, queries, [&](const Run& run) { count = run.number + 1; });
    return count;
  }
  /// Range of for_each_tile.
  struct Extent {
    Index head;
    Index queries;
    Index keys;
    Index size;  ///< tokens of a tile
    RunShape runs;
  };
  Extent extent(Index head, Index queries, Index keys) const {
    return {head, queries, keys, pattern_->size(), tile_runs()};
  }
  /// For one tile of queries after the other, calls begin(run) for its runs, step(run, j, keys) for
  /// the chunks of keys that they attend to, and end(run). All runs of a tile process a chunk while
  /// it is in the cache; begin_chunk(j, keys) and end_chunk(j, keys) are called before and after
  /// them.
  template <class Begin, class BeginChunk, class Step, class EndChunk, class End>
  void for_each_tile(const Extent& extent,
                     const Begin& begin,
                     const BeginChunk& begin_chunk,
                     const Step& step,
                     const EndChunk& end_chunk,
                     const End& end) const {
    const Index size = extent.size;
    const Index query_tiles = (extent.queries + size - 1) / size;
    const Index key_tiles = (extent.keys + size - 1) / size;
    for (Index a = 0; a < query_tiles; ++a) {
      const Index first = a * size;
      const Index last = std::min(extent.queries, first + size);
      for_each_run(extent.runs, first, last, begin);
      for (Index b = 0; b < key_tiles; ++b) {
        if (!pattern_->meets(extent.head, a, b, key_tiles)) continue;
        const Index end_of_tile = std::min(extent.keys, (b + 1) * size);
        const Index stop = causal_ ? std::min(end_of_tile, last) : end_of_tile;
        for (Index j = b * size; j < stop; j += kChunk) {
          const Index keys = std::min(kChunk, stop - j);
          begin_chunk(j, keys);
          for_each_run(extent.runs, first, last, [&](const Run& run) {
            const Index seen = causal_ ? std::min(stop, run.i + run.rows) : stop;
            if (j < seen) step(run, j, std::min(kChunk, seen - j));
          });
          end_chunk(j, keys);
        }
      }
      for_each_run(extent.runs, first, last, end);
    }
  }
  /// Returns the mask of a chunk. Writes the words of dropout, one per query, to `keep`.
  kernels::ChunkMask<T> mask_of(Context<T> context,
                                Index head,
                                const Run& run,
                                Index j,
                                Index keys,
                                std::uint64_t* keep) const {
    kernels::ChunkMask<T> mask;
    if (!context.mask.empty()) mask.tokens = context.mask.data() + j;
    mask.causal = causal_ && j + keys > run.i + 1;
    mask.before = run.i - j;
    if (dropout_.acts(context)) {
      dropout_.keep_words(context.random, head, run.i, run.rows, j, keep);
      mask.keep = keep;
      mask.keep_scale = T(1 / (1 - dropout_.rate()));
    }
    return mask;
  }
  /// Returns the keys j, j + 1, ... for a run.
  kernels::KeyChunk<T> chunk(Context<T> context,
                             const HeadInputs<T>& in,
                             const Run& run,
                             Index j,
                             Index keys,
                             std::uint64_t* keep) const {
    return {
        rows_of(in.K, j), rows_of(in.V, j), keys, mask_of(context, in.head, run, j, keys, keep)};
  }
  // The variant with products of packed blocks, for float.
  bool takes_blocks(HeadInputs<T> in) const {
    return kernels::softmax_blocks() != nullptr &&
           std::min(in.Q.cols(), in.V.cols()) >= kMinPackedWidth &&
           std::min(in.Q.rows(), pattern_->packed_size()) >= kBlockRuns.lanes &&
           in.K.rows() >= kMinPackedKeys;
  }
  void forward_blocks(Context<T> context, HeadInputs<T> in, Out<T> H, Cache<T>& cache) const;
  void backward_blocks(Context<T> context,
                       HeadInputs<T> in,
                       In<T> H,
                       In<T> dH,
                       HeadGradients<T> d,
                       Cache<T>& cache) const;
  /// Writes the logarithms of a run's sums, and the `factors` by which the rows of its result are
  /// multiplied.
  void finish_sums(
      const Run& run, const T* largest, const T* sums, TokenMap<T> log_sums, T* factors) const {
    for (Index a = 0; a < run.rows; ++a) {
      const bool empty = largest[a] == -std::numeric_limits<T>::infinity();
      // Without keys the row is 0, and 0 in place of -inf keeps the backward pass finite.
      log_sums(run.i + a, 0) = empty ? T(0) : largest[a] + std::log2(sums[a]);
      factors[a] = empty ? T(0) : T(1) / sums[a];
    }
  }
  /// Sets `means` and `logarithms` of each query for the backward pass, with zeros beyond a run's
  /// rows.
  void set_means(const Run& run,
                 In<T> H,
                 In<T> dH,
                 const TokenMap<T>& log_sums,
                 T* means,
                 T* logarithms) const {
    std::fill_n(means, run.width, T(0));
    std::fill_n(logarithms, run.width, T(0));
    for (Index a = 0; a < run.rows; ++a) {
      means[a] = dH.row(run.i + a).dot(H.row(run.i + a)) * T(scale());
      logarithms[a] = log_sums(run.i + a, 0);
    }
  }
  /// Sets the rows of a run in X to factors o in^T.
  static void write_rows(const Run& run, const T* in, const T* factors, Out<T> X) {
    const kernels::TileRows<T> rows{X.data() + run.i * X.outerStride(), X.outerStride()};
    kernels::softmax_tiles<T>().transpose_back(in, run.width, run.rows, X.cols(), factors, rows);
  }
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_width_)); }
  static Index round_up(Index value, Index multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
  static kernels::TileRows<const T> rows_of(In<T> X, Index first) {
    return {X.data() + first * X.outerStride(), X.outerStride()};
  }

  Index head_width_;
  bool causal_;
  ProbabilityDropout dropout_;
  std::unique_ptr<TilePattern> pattern_;
};

template <class T>
void TiledSoftmaxCore<T>::forward(Context<T> context,
                                  HeadInputs<T> in,
                                  Out<T> H,
                                  Cache<T>& cache) const {
  if constexpr (std::is_same_v<T, float>) {
    if (takes_blocks(in)) return forward_blocks(context, in, H, cache);
  }
  const kernels::SoftmaxTiles<T>& tile = kernels::softmax_tiles<T>();
  const Index longest = tile.lanes * tile.vectors;
  const Index runs = runs_of(std::min(pattern_->size(), in.Q.rows()));
  const Index v = round_up(in.V.cols(), kRounding);
  TokenMap<T> log_sums = cache.array(kLogSums, in.Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(runs * in.Q.cols(), longest);
  TokenMap<T> results = scope.take(runs * v, longest);
  TokenMap<T> largest = scope.take(runs, longest);
  TokenMap<T> sums = scope.take(runs, longest);
  TokenMap<T> factors = scope.take(1, longest);
  TokenMap<T> scratch = scope.take(kChunk, longest);
  std::array<std::uint64_t, kMaxRun> keep{};
  const auto state = [&](const Run& run) {
    return kernels::ForwardRun<T>{.run = run.width,
                                  .width = in.Q.cols(),
                                  .value_width = in.V.cols(),
                                  .queries = queries.row(run.number * in.Q.cols()).data(),
                                  .largest = largest.row(run.number).data(),
                                  .sums = sums.row(run.number).data(),
                                  .result = results.row(run.number * v).data(),
                                  .scratch = scratch.data()};
  };
  const auto begin = [&](const Run& run) {
    tile.transpose(rows_of(in.Q, run.i),
                   run.rows,
                   in.Q.cols(),
                   T(scale() * std::numbers::log2e),
                   run.width,
                   queries.row(run.number * in.Q.cols()).data());
    largest.row(run.number).setConstant(-std::numeric_limits<T>::infinity());
    sums.row(run.number).setZero();
    results.middleRows(run.number * v, v).setZero();
  };
  const auto step = [&](const Run& run, Index j, Index keys) {
    tile.forward(state(run), chunk(context, in, run, j, keys, keep.data()));
  };
  const auto end = [&](const Run& run) {
    finish_sums(
        run, largest.row(run.number).data(), sums.row(run.number).data(), log_sums, factors.data());
    write_rows(run, results.row(run.number * v).data(), factors.data(), H);
  };
  const auto nothing = [](Index /*j*/, Index /*keys*/) {};
  for_each_tile(extent(in.head, in.Q.rows(), in.K.rows()), begin, nothing, step, nothing, end);
}

/// P = softmax(S) is recomputed from the logarithms of the sums. M is the mask of dropout:
/// dV = (P o M)^T dH, dS = P o (dH V^T o M - (dH o H) 1), dQ = scale dS K, dK = scale dS^T Q.
template <class T>
void TiledSoftmaxCore<T>::backward(Context<T> context,
                                   HeadInputs<T> in,
                                   In<T> H,
                                   In<T> dH,
                                   HeadGradients<T> d,
                                   Cache<T>& cache) const {
  if constexpr (std::is_same_v<T, float>) {
    if (takes_blocks(in)) return backward_blocks(context, in, H, dH, d, cache);
  }
  const kernels::SoftmaxTiles<T>& tile = kernels::softmax_tiles<T>();
  const Index longest = tile.lanes * tile.vectors;
  const Index runs = runs_of(std::min(pattern_->size(), in.Q.rows()));
  const Index p = round_up(in.Q.cols(), tile.lanes);
  const Index v = round_up(in.V.cols(), tile.lanes);
  const Index gradient_rows_of_run = round_up(in.Q.cols(), kRounding);
  // If rows are not whole vectors, the kernels read padded copies of them and add up gradients in
  // padded rows.
  const bool whole_keys = p == in.Q.cols();
  const bool whole_values = v == in.V.cols();
  const TokenMap<T> log_sums = cache.array(kLogSums, in.Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(runs * in.Q.cols(), longest);
  TokenMap<T> gradients = scope.take(runs * in.V.cols(), longest);
  TokenMap<T> query_gradients = scope.take(runs * gradient_rows_of_run, longest);
  TokenMap<T> means = scope.take(runs, longest);
  TokenMap<T> logarithms = scope.take(runs, longest);
  TokenMap<T> ones = scope.take(1, longest);
  TokenMap<T> scratch = scope.take(2 * kChunk, longest);
  TokenMap<T> wide_Q = scope.take(whole_keys ? 0 : runs * longest, p);
  TokenMap<T> wide_dH = scope.take(whole_values ? 0 : runs * longest, v);
  TokenMap<T> wide_dK = scope.take(whole_keys ? 0 : in.K.rows(), p);
  TokenMap<T> wide_dV = scope.take(whole_values ? 0 : in.V.rows(), v);
  const kernels::TileRows<T> key_gradient =
      whole_keys ? kernels::TileRows<T>{d.K.data(), d.K.outerStride()}
                 : kernels::TileRows<T>{wide_dK.data(), p};
  const kernels::TileRows<T> value_gradient =
      whole_values ? kernels::TileRows<T>{d.V.data(), d.V.outerStride()}
                   : kernels::TileRows<T>{wide_dV.data(), v};
  std::array<std::uint64_t, kMaxRun> keep{};
  d.K.setZero();
  d.V.setZero();
  wide_Q.setZero();
  wide_dH.setZero();
  wide_dK.setZero();
  wide_dV.setZero();
  ones.setOnes();
  const auto begin = [&](const Run& run) {
    tile.transpose(rows_of(in.Q, run.i),
                   run.rows,
                   in.Q.cols(),
                   T(scale() * std::numbers::log2e),
                   run.width,
                   queries.row(run.number * in.Q.cols()).data());
    tile.transpose(rows_of(dH, run.i),
                   run.rows,
                   in.V.cols(),
                   T(scale()),
                   run.width,
                   gradients.row(run.number * in.V.cols()).data());
    const Index first = run.number * longest;
    if (!whole_keys)
      wide_Q.block(first, 0, run.rows, in.Q.cols()) = in.Q.middleRows(run.i, run.rows);
    if (!whole_values)
      wide_dH.block(first, 0, run.rows, in.V.cols()) = dH.middleRows(run.i, run.rows);
    set_means(
        run, H, dH, log_sums, means.row(run.number).data(), logarithms.row(run.number).data());
    query_gradients.middleRows(run.number * gradient_rows_of_run, gradient_rows_of_run).setZero();
  };
  const auto step = [&](const Run& run, Index j, Index keys) {
    const Index first = run.number * longest;
    const kernels::BackwardRun<T> state{
        .run = run.width,
        .rows = run.rows,
        .width = in.Q.cols(),
        .value_width = in.V.cols(),
        .queries = queries.row(run.number * in.Q.cols()).data(),
        .gradients = gradients.row(run.number * in.V.cols()).data(),
        .log_sums = logarithms.row(run.number).data(),
        .means = means.row(run.number).data(),
        .query_rows = whole_keys ? rows_of(in.Q, run.i) : rows_of(wide_Q, first),
        .gradient_rows = whole_values ? rows_of(dH, run.i) : rows_of(wide_dH, first),
        .query_gradient = query_gradients.row(run.number * gradient_rows_of_run).data(),
        .scratch = scratch.data()};
    tile.backward(state,
                  chunk(context, in, run, j, keys, keep.data()),
                  {key_gradient.data + j * key_gradient.stride, key_gradient.stride},
                  {value_gradient.data + j * value_gradient.stride, value_gradient.stride});
  };
  const auto end = [&](const Run& run) {
    write_rows(
        run, query_gradients.row(run.number * gradient_rows_of_run).data(), ones.data(), d.Q);
  };
  const auto nothing = [](Index /*j*/, Index /*keys*/) {};
  for_each_tile(extent(in.head, in.Q.rows(), in.K.rows()), begin, nothing, step, nothing, end);
  if (!whole_keys) d.K = wide_dK.leftCols(in.Q.cols());
  if (!whole_values) d.V = wide_dV.leftCols(in.V.cols());
}

}  // namespace matapprox::attention

#include "attention/kernels/tiled_softmax_blocks.hpp"
