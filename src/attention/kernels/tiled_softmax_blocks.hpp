#pragma once

// TiledSoftmaxCore with products of packed blocks. Included at the end of tiled_softmax.hpp.

#include "attention/kernels/tiled_softmax.hpp"
#include "kernels/amx.hpp"

namespace matapprox::attention {

/// Sizes, in numbers, of packed factors with the given rows and columns.
struct PackedSize {
  static Index whole(Index size, Index step) { return (size + step - 1) / step; }
  static Index left(Index rows, Index depth) {
    return whole(rows, kernels::kAmxSide) * whole(depth, kernels::kAmxDepth) * kernels::kAmxBlock;
  }
  static Index right(Index depth, Index columns) { return left(columns, depth); }
};

template <class T>
void TiledSoftmaxCore<T>::forward_blocks(Context<T> context,
                                         HeadInputs<T> in,
                                         Out<T> H,
                                         Cache<T>& cache) const {
  using kernels::BlockForm;
  const kernels::SoftmaxBlocks& blocks = *kernels::softmax_blocks();
  const kernels::AmxScope tiles;
  constexpr Index kRunQueries = kernels::SoftmaxBlocks::kRun;
  const Index size = pattern_->packed_size();
  const Index runs = PackedSize::whole(std::min(size, in.Q.rows()), kRunQueries);
  const Index v = round_up(in.V.cols(), kernels::kAmxSide);
  TokenMap<T> log_sums = cache.array(kLogSums, in.Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(runs, PackedSize::right(in.Q.cols(), kRunQueries));
  TokenMap<T> results = scope.take(runs, v * kRunQueries);
  TokenMap<T> largest = scope.take(runs, kRunQueries);
  TokenMap<T> sums = scope.take(runs, kRunQueries);
  TokenMap<T> factors = scope.take(1, kRunQueries);
  TokenMap<T> keys = scope.take(1, PackedSize::left(kChunk, in.Q.cols()));
  TokenMap<T> values = scope.take(1, PackedSize::left(in.V.cols(), kChunk));
  TokenMap<T> scratch =
      scope.take(1, kChunk * kRunQueries + PackedSize::right(kChunk, kRunQueries));
  std::array<std::uint64_t, kMaxRun> keep{};
  const auto begin = [&](const Run& run) {
    blocks.pack(rows_of(in.Q, run.i),
                run.rows,
                in.Q.cols(),
                BlockForm::kRightOfTranspose,
                T(scale() * std::numbers::log2e),
                queries.row(run.number).data());
    largest.row(run.number).setConstant(-std::numeric_limits<T>::infinity());
    sums.row(run.number).setZero();
    results.row(run.number).setZero();
  };
  const auto begin_chunk = [&](Index j, Index count) {
    blocks.pack(rows_of(in.K, j), count, in.K.cols(), BlockForm::kLeft, T(1), keys.data());
    blocks.pack(
        rows_of(in.V, j), count, in.V.cols(), BlockForm::kLeftOfTranspose, T(1), values.data());
  };
  const auto step = [&](const Run& run, Index j, Index count) {
    blocks.forward({.run = kRunQueries,
                    .width = in.Q.cols(),
                    .value_width = in.V.cols(),
                    .queries = queries.row(run.number).data(),
                    .largest = largest.row(run.number).data(),
                    .sums = sums.row(run.number).data(),
                    .result = results.row(run.number).data(),
                    .scratch = scratch.data()},
                   keys.data(),
                   values.data(),
                   count,
                   mask_of(context, in.head, run, j, count, keep.data()));
  };
  const auto end = [&](const Run& run) {
    finish_sums(
        run, largest.row(run.number).data(), sums.row(run.number).data(), log_sums, factors.data());
    write_rows(run, results.row(run.number).data(), factors.data(), H);
  };
  const auto nothing = [](Index /*j*/, Index /*count*/) {};
  for_each_tile({in.head, in.Q.rows(), in.K.rows(), size, kBlockRuns},
                begin,
                begin_chunk,
                step,
                nothing,
                end);
}

template <class T>
void TiledSoftmaxCore<T>::backward_blocks(Context<T> context,
                                          HeadInputs<T> in,
                                          In<T> H,
                                          In<T> dH,
                                          HeadGradients<T> d,
                                          Cache<T>& cache) const {
  using kernels::BlockForm;
  const kernels::SoftmaxBlocks& blocks = *kernels::softmax_blocks();
  const kernels::AmxScope tiles;
  constexpr Index kRunQueries = kernels::SoftmaxBlocks::kRun;
  const Index size = pattern_->packed_size();
  const Index runs = PackedSize::whole(std::min(size, in.Q.rows()), kRunQueries);
  const Index p = round_up(in.Q.cols(), kernels::kAmxSide);
  const Index v = round_up(in.V.cols(), kernels::kAmxSide);
  const TokenMap<T> log_sums = cache.array(kLogSums, in.Q.rows(), 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> queries = scope.take(runs, PackedSize::right(in.Q.cols(), kRunQueries));
  TokenMap<T> gradients = scope.take(runs, PackedSize::right(in.V.cols(), kRunQueries));
  TokenMap<T> query_rows = scope.take(runs, PackedSize::right(kRunQueries, in.Q.cols()));
  TokenMap<T> gradient_rows = scope.take(runs, PackedSize::right(kRunQueries, in.V.cols()));
  TokenMap<T> query_gradients = scope.take(runs, p * kRunQueries);
  TokenMap<T> means = scope.take(runs, kRunQueries);
  TokenMap<T> logarithms = scope.take(runs, kRunQueries);
  TokenMap<T> ones = scope.take(1, kRunQueries);
  TokenMap<T> keys = scope.take(1, PackedSize::left(kChunk, in.Q.cols()));
  TokenMap<T> keys_of_transpose = scope.take(1, PackedSize::left(in.Q.cols(), kChunk));
  TokenMap<T> values = scope.take(1, PackedSize::left(kChunk, in.V.cols()));
  TokenMap<T> key_gradient = scope.take(kChunk, p);
  TokenMap<T> value_gradient = scope.take(kChunk, v);
  TokenMap<T> scratch =
      scope.take(1, 2 * kChunk * kRunQueries + 3 * PackedSize::right(kChunk, kRunQueries));
  std::array<std::uint64_t, kMaxRun> keep{};
  d.K.setZero();
  d.V.setZero();
  ones.setOnes();
  const auto begin = [&](const Run& run) {
    const auto pack = [&](In<T> X, double factor, TokenMap<T>& of_transpose, TokenMap<T>& rows) {
      blocks.pack(rows_of(X, run.i),
                  run.rows,
                  X.cols(),
                  BlockForm::kRightOfTranspose,
                  T(factor),
                  of_transpose.row(run.number).data());
      blocks.pack(rows_of(X, run.i),
                  run.rows,
                  X.cols(),
                  BlockForm::kRight,
                  T(1),
                  rows.row(run.number).data());
    };
    pack(in.Q, scale() * std::numbers::log2e, queries, query_rows);
    pack(dH, scale(), gradients, gradient_rows);
    set_means(
        run, H, dH, log_sums, means.row(run.number).data(), logarithms.row(run.number).data());
    query_gradients.row(run.number).setZero();
  };
  const auto begin_chunk = [&](Index j, Index count) {
    blocks.pack(rows_of(in.K, j), count, in.K.cols(), BlockForm::kLeft, T(1), keys.data());
    blocks.pack(rows_of(in.V, j), count, in.V.cols(), BlockForm::kLeft, T(1), values.data());
    blocks.pack(rows_of(in.K, j),
                count,
                in.K.cols(),
                BlockForm::kLeftOfTranspose,
                T(1),
                keys_of_transpose.data());
    key_gradient.setZero();
    value_gradient.setZero();
  };
  const auto step = [&](const Run& run, Index j, Index count) {
    blocks.backward({.run = kRunQueries,
                     .rows = run.rows,
                     .width = in.Q.cols(),
                     .value_width = in.V.cols(),
                     .queries = queries.row(run.number).data(),
                     .gradients = gradients.row(run.number).data(),
                     .log_sums = logarithms.row(run.number).data(),
                     .means = means.row(run.number).data(),
                     .query_rows = {query_rows.row(run.number).data(), 0},
                     .gradient_rows = {gradient_rows.row(run.number).data(), 0},
                     .query_gradient = query_gradients.row(run.number).data(),
                     .scratch = scratch.data()},
                    keys.data(),
                    keys_of_transpose.data(),
                    values.data(),
                    count,
                    mask_of(context, in.head, run, j, count, keep.data()),
                    key_gradient.data(),
                    value_gradient.data());
  };
  const auto end_chunk = [&](Index j, Index count) {
    d.K.middleRows(j, count) += key_gradient.topLeftCorner(count, in.K.cols());
    d.V.middleRows(j, count) += value_gradient.topLeftCorner(count, in.V.cols());
  };
  const auto end = [&](const Run& run) {
    write_rows(run, query_gradients.row(run.number).data(), ones.data(), d.Q);
  };
  for_each_tile({in.head, in.Q.rows(), in.K.rows(), size, kBlockRuns},
                begin,
                begin_chunk,
                step,
                end_chunk,
                end);
}

}  // namespace matapprox::attention
