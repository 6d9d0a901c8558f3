#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "attention/softmax_tiles.hpp"
#include "matapprox/attention/dropout.hpp"
#include "matapprox/attention/head_core.hpp"

namespace matapprox::attention {

/// Which tiles of keys a tile of queries meets; tiles are `size` tokens wide, the last one perhaps
/// less.
class TilePattern {
 public:
  virtual ~TilePattern() = default;
  virtual Index size() const = 0;
  /// Whether queries of tile i meet keys of tile j, of `tiles` tiles in all.
  virtual bool meets(Index head, Index i, Index j, Index tiles) const = 0;
};

/// All of them, in tiles of whole runs of queries and whole chunks of keys.
class AllTiles final : public TilePattern {
 public:
  Index size() const override { return 192; }
  bool meets(Index /*head*/, Index /*i*/, Index /*j*/, Index /*tiles*/) const override {
    return true;
  }
};

// Array of the cache: the binary logarithm of each row's sum of exponentials.
inline constexpr std::size_t kLogSums = 0;

/// Softmax attention, H_i = sum_j exp(s_ij) v_j / sum_j exp(s_ij), s_ij = q_i . k_j / sqrt(p), over
/// the tokens j in the tiles that query i meets; 0 where there is none. The scores of a run of
/// queries are made chunk by chunk of keys, with a running maximum and sum, and the backward pass
/// makes them again from the saved logarithms of the sums: O(N) numbers beside Q, K, V and H.
/// [RS21; DFE+22, Alg. 1]
///
/// Keys and values may be others than the tokens' (Linformer's mixtures): then there is no mask,
/// and their number is any.
template <class T>
class TiledSoftmaxCore final : public HeadCore<T> {
 public:
  TiledSoftmaxCore(const AttentionShape& shape, std::unique_ptr<TilePattern> pattern)
      : head_width_(shape.head_width()),
        causal_(shape.causal),
        dropout_(shape),
        pattern_(std::move(pattern)) {}

  void forward(const LayerContext<T>& context,
               Index head,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override;
  void backward(const LayerContext<T>& context,
                Index head,
                const ConstTokens<T>& Q,
                const ConstTokens<T>& K,
                const ConstTokens<T>& V,
                const ConstTokens<T>& H,
                const ConstTokens<T>& dH,
                Tokens<T> dQ,
                Tokens<T> dK,
                Tokens<T> dV,
                Cache<T>& cache) const override;
  /// Of head 0.
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
  static constexpr Index kRounding = 8;                       // of rows that the kernels write
  static constexpr std::size_t kMaxRun = 3 * 64 / sizeof(T);  // queries
  /// Calls begin(i, rows, W) for runs of queries, step(i, rows, W, j, keys) for the chunks of keys
  /// that a run meets, and end(i, rows, W).
  template <class Begin, class Step, class End>
  void for_each_run(Index head,
                    Index queries,
                    Index keys,
                    const Begin& begin,
                    const Step& step,
                    const End& end) const;
  /// What of a chunk counts. The words of dropout, one a query, are put where `keep` says.
  kernels::ChunkMask<T> mask_of(const LayerContext<T>& context,
                                Index head,
                                Index i,
                                Index rows,
                                Index j,
                                Index keys,
                                std::uint64_t* keep) const;
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_width_)); }
  static Index round_up(Index value, Index multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
  static kernels::TileRows<const T> rows_of(const ConstTokens<T>& X, Index first) {
    return {X.data() + first * X.outerStride(), X.outerStride()};
  }
  /// Rows of X as whole vectors: where they are, or copied with zeros behind.
  static kernels::TileRows<const T> whole_rows(const ConstTokens<T>& X,
                                               Index first,
                                               Index rows,
                                               TokenMap<T>& copy) {
    if (copy.cols() == X.cols()) return rows_of(X, first);
    copy.topLeftCorner(rows, X.cols()) = X.middleRows(first, rows);
    return {copy.data(), copy.cols()};
  }

  Index head_width_;
  bool causal_;
  ProbabilityDropout dropout_;
  std::unique_ptr<TilePattern> pattern_;
};

template <class T>
template <class Begin, class Step, class End>
void TiledSoftmaxCore<T>::for_each_run(Index head,
                                       Index queries,
                                       Index keys,
                                       const Begin& begin,
                                       const Step& step,
                                       const End& end) const {
  const kernels::SoftmaxTiles<T>& tile = kernels::softmax_tiles<T>();
  const Index size = pattern_->size();
  const Index query_tiles = (queries + size - 1) / size;
  const Index key_tiles = (keys + size - 1) / size;
  for (Index a = 0; a < query_tiles; ++a) {
    const Index last = std::min(queries, (a + 1) * size);
    Index i = a * size;
    while (i < last) {
      const Index left = (last - i + tile.lanes - 1) / tile.lanes;
      // Four vectors are two runs of two, which take less time than three and one.
      const Index vectors =
          left == tile.vectors + 1 ? (left + 1) / 2 : std::min(left, tile.vectors);
      const Index run = vectors * tile.lanes;
      const Index rows = std::min(run, last - i);
      begin(i, rows, run);
      for (Index b = 0; b < key_tiles; ++b) {
        if (!pattern_->meets(head, a, b, key_tiles)) continue;
        const Index stop = std::min(std::min(keys, (b + 1) * size), causal_ ? i + rows : keys);
        for (Index j = b * size; j < stop; j += kChunk)
          step(i, rows, run, j, std::min(kChunk, stop - j));
      }
      end(i, rows, run);
      i += rows;
    }
  }
}

template <class T>
kernels::ChunkMask<T> TiledSoftmaxCore<T>::mask_of(const LayerContext<T>& context,
                                                   Index head,
                                                   Index i,
                                                   Index rows,
                                                   Index j,
                                                   Index keys,
                                                   std::uint64_t* keep) const {
  kernels::ChunkMask<T> mask;
  if (!context.mask.empty()) mask.tokens = context.mask.data() + j;
  mask.causal = causal_ && j + keys > i + 1;
  mask.before = i - j;
  if (dropout_.acts(context)) {
    dropout_.keep_words(context, head, i, rows, j, keep);
    mask.keep = keep;
    mask.keep_scale = T(1 / (1 - dropout_.rate()));
  }
  return mask;
}

template <class T>
void TiledSoftmaxCore<T>::forward(const LayerContext<T>& context,
                                  Index head,
                                  const ConstTokens<T>& Q,
                                  const ConstTokens<T>& K,
                                  const ConstTokens<T>& V,
                                  Tokens<T> H,
                                  Cache<T>& cache) const {
  const kernels::SoftmaxTiles<T>& tile = kernels::softmax_tiles<T>();
  const Index longest = tile.lanes * tile.vectors;
  TokenMap<T> log_sums = cache.array(kLogSums, Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(Q.cols(), longest);
  TokenMap<T> result = scope.take(round_up(V.cols(), kRounding), longest);
  TokenMap<T> scratch = scope.take(kChunk, longest);
  TokenMap<T> of_rows = scope.take(3, longest);
  std::array<std::uint64_t, kMaxRun> keep{};
  kernels::ForwardRun<T> run{.width = Q.cols(),
                             .value_width = V.cols(),
                             .queries = queries.data(),
                             .largest = of_rows.row(0).data(),
                             .sums = of_rows.row(1).data(),
                             .result = result.data(),
                             .scratch = scratch.data()};
  T* factors = of_rows.row(2).data();
  const auto begin = [&](Index i, Index rows, Index width) {
    run.run = width;
    tile.transpose(
        rows_of(Q, i), rows, Q.cols(), T(scale() * std::numbers::log2e), width, queries.data());
    std::fill_n(run.largest, width, -std::numeric_limits<T>::infinity());
    std::fill_n(run.sums, width, T(0));
    result.setZero();
  };
  const auto step = [&](Index i, Index rows, Index /*width*/, Index j, Index keys) {
    tile.forward(run,
                 rows_of(K, j),
                 rows_of(V, j),
                 keys,
                 mask_of(context, head, i, rows, j, keys, keep.data()));
  };
  const auto end = [&](Index i, Index rows, Index width) {
    for (Index a = 0; a < rows; ++a) {
      const bool empty = run.largest[a] == -std::numeric_limits<T>::infinity();
      // No key: the row is 0, and 0 in the place of -inf keeps the backward pass finite.
      log_sums(i + a, 0) = empty ? T(0) : run.largest[a] + std::log2(run.sums[a]);
      factors[a] = empty ? T(0) : T(1) / run.sums[a];
    }
    tile.transpose_back(result.data(),
                        width,
                        rows,
                        V.cols(),
                        factors,
                        {H.data() + i * H.outerStride(), H.outerStride()});
  };
  for_each_run(head, Q.rows(), K.rows(), begin, step, end);
}

/// With P = softmax(S) made again from the logarithms of the sums, and M the mask of dropout:
/// dV = (P o M)^T dH, dS = P o (dH V^T o M - (dH o H) 1), dQ = scale dS K, dK = scale dS^T Q.
template <class T>
void TiledSoftmaxCore<T>::backward(const LayerContext<T>& context,
                                   Index head,
                                   const ConstTokens<T>& Q,
                                   const ConstTokens<T>& K,
                                   const ConstTokens<T>& V,
                                   const ConstTokens<T>& H,
                                   const ConstTokens<T>& dH,
                                   Tokens<T> dQ,
                                   Tokens<T> dK,
                                   Tokens<T> dV,
                                   Cache<T>& cache) const {
  const kernels::SoftmaxTiles<T>& tile = kernels::softmax_tiles<T>();
  const Index longest = tile.lanes * tile.vectors;
  const Index p = round_up(Q.cols(), tile.lanes);
  const Index v = round_up(V.cols(), tile.lanes);
  const TokenMap<T> log_sums = cache.array(kLogSums, Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(Q.cols(), longest);
  TokenMap<T> gradients = scope.take(V.cols(), longest);
  TokenMap<T> query_gradient = scope.take(round_up(Q.cols(), kRounding), longest);
  TokenMap<T> scratch = scope.take(2 * kChunk, longest);
  TokenMap<T> of_rows = scope.take(3, longest);
  TokenMap<T> query_rows = scope.take(longest, p);
  TokenMap<T> gradient_rows = scope.take(longest, v);
  // Where rows are not of whole vectors, their gradients are added up in rows that are.
  const bool whole_keys = p == Q.cols();
  const bool whole_values = v == V.cols();
  TokenMap<T> wide_dK = scope.take(whole_keys ? 0 : K.rows(), p);
  TokenMap<T> wide_dV = scope.take(whole_values ? 0 : V.rows(), v);
  const kernels::TileRows<T> key_gradient = whole_keys
                                                ? kernels::TileRows<T>{dK.data(), dK.outerStride()}
                                                : kernels::TileRows<T>{wide_dK.data(), p};
  const kernels::TileRows<T> value_gradient =
      whole_values ? kernels::TileRows<T>{dV.data(), dV.outerStride()}
                   : kernels::TileRows<T>{wide_dV.data(), v};
  std::array<std::uint64_t, kMaxRun> keep{};
  dK.setZero();
  dV.setZero();
  wide_dK.setZero();
  wide_dV.setZero();
  query_rows.setZero();
  gradient_rows.setZero();
  T* means = of_rows.row(0).data();
  T* logarithms = of_rows.row(1).data();
  T* ones = of_rows.row(2).data();
  std::fill_n(ones, longest, T(1));
  kernels::BackwardRun<T> run{.width = Q.cols(),
                              .value_width = V.cols(),
                              .queries = queries.data(),
                              .gradients = gradients.data(),
                              .log_sums = logarithms,
                              .means = means,
                              .query_gradient = query_gradient.data(),
                              .scratch = scratch.data()};
  const auto begin = [&](Index i, Index rows, Index width) {
    run.run = width;
    run.rows = rows;
    tile.transpose(
        rows_of(Q, i), rows, Q.cols(), T(scale() * std::numbers::log2e), width, queries.data());
    tile.transpose(rows_of(dH, i), rows, V.cols(), T(scale()), width, gradients.data());
    run.query_rows = whole_rows(Q, i, rows, query_rows);
    run.gradient_rows = whole_rows(dH, i, rows, gradient_rows);
    for (Index a = 0; a < width; ++a) {
      means[a] = a < rows ? dH.row(i + a).dot(H.row(i + a)) * T(scale()) : T(0);
      logarithms[a] = a < rows ? log_sums(i + a, 0) : T(0);
    }
    query_gradient.setZero();
  };
  const auto step = [&](Index i, Index rows, Index /*width*/, Index j, Index keys) {
    tile.backward(run,
                  rows_of(K, j),
                  rows_of(V, j),
                  keys,
                  mask_of(context, head, i, rows, j, keys, keep.data()),
                  {key_gradient.data + j * key_gradient.stride, key_gradient.stride},
                  {value_gradient.data + j * value_gradient.stride, value_gradient.stride});
  };
  const auto end = [&](Index i, Index rows, Index width) {
    tile.transpose_back(query_gradient.data(),
                        width,
                        rows,
                        Q.cols(),
                        ones,
                        {dQ.data() + i * dQ.outerStride(), dQ.outerStride()});
  };
  for_each_run(head, Q.rows(), K.rows(), begin, step, end);
  if (!whole_keys) dK = wide_dK.leftCols(Q.cols());
  if (!whole_values) dV = wide_dV.leftCols(V.cols());
}

}  // namespace matapprox::attention
