#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "attention/elementwise.hpp"
#include "attention/products.hpp"
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

/// All of them, in tiles of scores that stay in the first-level cache.
class AllTiles final : public TilePattern {
 public:
  Index size() const override { return 64; }
  bool meets(Index /*head*/, Index /*i*/, Index /*j*/, Index /*tiles*/) const override {
    return true;
  }
};

inline constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
// Array of the cache: the logarithm of each row's sum of exponentials.
inline constexpr std::size_t kLogSums = 0;

/// Softmax attention, H_i = sum_j exp(s_ij) v_j / sum_j exp(s_ij), s_ij = q_i . k_j / sqrt(p), over
/// the tokens j in the tiles that query i meets; 0 where there is none. Tiles come one after the
/// other with a running maximum and sum, and the backward pass makes them again from the saved
/// logarithms of the sums: O(N) numbers beside Q, K, V and H. [RS21; DFE+22, Alg. 1]
template <class T>
class TiledSoftmaxCore final : public HeadCore<T> {
 public:
  TiledSoftmaxCore(const AttentionShape& shape, std::unique_ptr<TilePattern> pattern)
      : scale_(1 / std::sqrt(static_cast<double>(shape.head_width()))),
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
    for_each_tile(0, length, [&](Index /*i*/, Index rows, Index /*j*/, Index cols) {
      cost.multiplications += 2 * rows * cols * width;
    });
    return cost;
  }

 private:
  /// Calls function(i, rows, j, cols) for the tiles at queries i.. and keys j.. that meet, by
  /// queries.
  template <class Function>
  void for_each_tile(Index head, Index n, const Function& function) const {
    const Index size = pattern_->size();
    const Index tiles = (n + size - 1) / size;
    for (Index a = 0; a < tiles; ++a) {
      for (Index b = 0; b < (causal_ ? a + 1 : tiles); ++b) {
        if (!pattern_->meets(head, a, b, tiles)) continue;
        const Index i = a * size;
        const Index j = b * size;
        function(i, std::min(size, n - i), j, std::min(size, n - j));
      }
    }
  }
  /// S = scale Q_i K_j^T of a tile, -inf where query i must not see key j.
  void scores(const LayerContext<T>& context,
              const ConstTokens<T>& Q,
              Index i,
              const ConstTokens<T>& K,
              Index j,
              Tokens<T> S) const;

  double scale_;
  bool causal_;
  ProbabilityDropout dropout_;
  std::unique_ptr<TilePattern> pattern_;
};

template <class T>
void TiledSoftmaxCore<T>::scores(const LayerContext<T>& context,
                                 const ConstTokens<T>& Q,
                                 Index i,
                                 const ConstTokens<T>& K,
                                 Index j,
                                 Tokens<T> S) const {
  multiply_by_transpose<T>(Q.middleRows(i, S.rows()), K.middleRows(j, S.cols()), S, scale_);
  for (Index b = 0; b < S.cols(); ++b) {
    if (!is_token(context.mask, j + b)) S.col(b).setConstant(T(kMinusInfinity));
  }
  if (!causal_) return;
  for (Index a = 0; a < S.rows(); ++a) {
    for (Index b = std::max<Index>(i + a + 1 - j, 0); b < S.cols(); ++b)
      S(a, b) = T(kMinusInfinity);
  }
}

/// What one block of queries has seen so far: H = sum_j exp(s_j - largest) v_j, and the sum of the
/// exponentials. A tile with a larger score shrinks H and the sum as they were before it; S becomes
/// the tile's exponentials, which are still to be multiplied by V.
template <class T>
void add_exponentials(Tokens<T> S, Tokens<T> largest, Tokens<T> sum, Tokens<T> H) {
  for (Index a = 0; a < S.rows(); ++a) {
    const T before = largest(a, 0);
    T after = before;
    for (Index b = 0; b < S.cols(); ++b) after = S(a, b) > after ? S(a, b) : after;
    if (after == T(kMinusInfinity)) {
      S.row(a).setZero();
      continue;
    }
    for (Index b = 0; b < S.cols(); ++b) S(a, b) -= after;
    kernels::exp(S.row(a).data(), S.row(a).data(), S.cols());
    const T shrink = before == T(kMinusInfinity) ? T(0) : std::exp(before - after);
    sum(a, 0) = sum(a, 0) * shrink + S.row(a).sum();
    H.row(a) *= shrink;
    largest(a, 0) = after;
  }
}

template <class T>
void TiledSoftmaxCore<T>::forward(const LayerContext<T>& context,
                                  Index head,
                                  const ConstTokens<T>& Q,
                                  const ConstTokens<T>& K,
                                  const ConstTokens<T>& V,
                                  Tokens<T> H,
                                  Cache<T>& cache) const {
  const Index n = Q.rows();
  TokenMap<T> largest = cache.array(kLogSums, n, 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> tile = scope.take(pattern_->size(), pattern_->size());
  TokenMap<T> sums = scope.take(n, 1);
  H.setZero();
  sums.setZero();
  largest.setConstant(T(kMinusInfinity));
  for_each_tile(head, n, [&](Index i, Index rows, Index j, Index cols) {
    Tokens<T> S = tile.topLeftCorner(rows, cols);
    scores(context, Q, i, K, j, S);
    add_exponentials<T>(
        S, largest.middleRows(i, rows), sums.middleRows(i, rows), H.middleRows(i, rows));
    dropout_.apply<T>(context, head, i, j, S);
    multiply<T>(S, V.middleRows(j, cols), H.middleRows(i, rows), 1, true);
  });
  for (Index i = 0; i < n; ++i) {
    const bool empty = largest(i, 0) == T(kMinusInfinity);
    // No key: the row is 0, and 0 in the place of -inf keeps the backward pass finite.
    largest(i, 0) = empty ? T(0) : largest(i, 0) + std::log(sums(i, 0));
    if (!empty) H.row(i) /= sums(i, 0);
  }
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
  const Index n = Q.rows();
  const TokenMap<T> log_sums = cache.array(kLogSums, n, 1);
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> p_tile = scope.take(pattern_->size(), pattern_->size());
  TokenMap<T> ds_tile = scope.take(pattern_->size(), pattern_->size());
  TokenMap<T> means = scope.take(n, 1);
  for (Index i = 0; i < n; ++i) means(i, 0) = dH.row(i).dot(H.row(i));
  dQ.setZero();
  dK.setZero();
  dV.setZero();
  for_each_tile(head, n, [&](Index i, Index rows, Index j, Index cols) {
    Tokens<T> P = p_tile.topLeftCorner(rows, cols);
    Tokens<T> dS = ds_tile.topLeftCorner(rows, cols);
    scores(context, Q, i, K, j, P);
    for (Index a = 0; a < rows; ++a) {
      P.row(a).array() -= log_sums(i + a, 0);
      kernels::exp(P.row(a).data(), P.row(a).data(), cols);
    }
    multiply_by_transpose<T>(dH.middleRows(i, rows), V.middleRows(j, cols), dS);
    dropout_.apply<T>(context, head, i, j, dS);
    for (Index a = 0; a < rows; ++a)
      dS.row(a).array() = P.row(a).array() * (dS.row(a).array() - means(i + a, 0));
    dropout_.apply<T>(context, head, i, j, P);
    multiply_transposed<T>(P, dH.middleRows(i, rows), dV.middleRows(j, cols), 1, true);
    multiply<T>(dS, K.middleRows(j, cols), dQ.middleRows(i, rows), scale_, true);
    multiply_transposed<T>(dS, Q.middleRows(i, rows), dK.middleRows(j, cols), scale_, true);
  });
}

}  // namespace matapprox::attention
