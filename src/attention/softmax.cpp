#include "matapprox/attention/softmax.hpp"

#include <cmath>
#include <limits>

#include "attention/elementwise.hpp"
#include "attention/instantiate.hpp"
#include "attention/products.hpp"
#include "matapprox/attention/multi_head.hpp"

namespace matapprox::attention {
namespace {

/// Queries and keys of a tile of scores, which stays in the first-level cache.
constexpr Index kTile = 64;
constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
// Array of the cache: the logarithm of each row's sum of exponentials.
constexpr std::size_t kLogSums = 0;

template <class T>
class SoftmaxCore final : public HeadCore<T> {
 public:
  explicit SoftmaxCore(const AttentionShape& shape)
      : scale_(1 / std::sqrt(static_cast<double>(shape.head_width()))), causal_(shape.causal) {}

  void forward(const Call<T>& call,
               Index head,
               const ConstTokens<T>& Q,
               const ConstTokens<T>& K,
               const ConstTokens<T>& V,
               Tokens<T> H,
               Cache<T>& cache) const override;
  void backward(const Call<T>& call,
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
  AttentionCost cost(Index length, Index width) const override {
    return {2 * length * length * width, length};
  }

 private:
  Index last_key(Index query_end, Index n) const { return causal_ ? query_end : n; }
  /// S = scale Q_i K_j^T of a tile, -inf where query i must not see key j.
  void scores(const Call<T>& call,
              const ConstTokens<T>& Q,
              Index i,
              const ConstTokens<T>& K,
              Index j,
              Tokens<T> S) const;

  double scale_;
  bool causal_;
};

template <class T>
void SoftmaxCore<T>::scores(const Call<T>& call,
                            const ConstTokens<T>& Q,
                            Index i,
                            const ConstTokens<T>& K,
                            Index j,
                            Tokens<T> S) const {
  multiply_by_transpose<T>(Q.middleRows(i, S.rows()), K.middleRows(j, S.cols()), S, scale_);
  for (Index b = 0; b < S.cols(); ++b) {
    if (!is_token(call.mask, j + b)) S.col(b).setConstant(T(kMinusInfinity));
  }
  if (!causal_) return;
  for (Index a = 0; a < S.rows(); ++a) {
    for (Index b = std::max<Index>(i + a + 1 - j, 0); b < S.cols(); ++b)
      S(a, b) = T(kMinusInfinity);
  }
}

/// What one block of queries has seen so far: H = sum_j exp(s_j - largest) v_j, and the sum of the
/// exponentials. A tile with a larger score shrinks what was there before.
template <class T>
void add_tile(Tokens<T> S, const ConstTokens<T>& V, Tokens<T> largest, Tokens<T> sum, Tokens<T> H) {
  using std::exp;
  for (Index a = 0; a < S.rows(); ++a) {
    const T before = largest(a, 0);
    T after = before;
    for (Index b = 0; b < S.cols(); ++b) after = S(a, b) > after ? S(a, b) : after;
    if (after == T(kMinusInfinity)) {
      S.row(a).setZero();
      continue;
    }
    for (Index b = 0; b < S.cols(); ++b) S(a, b) -= after;
    exp_values(S.row(a).data(), S.row(a).data(), S.cols());
    const T shrink = before == T(kMinusInfinity) ? T(0) : exp(before - after);
    sum(a, 0) = sum(a, 0) * shrink + S.row(a).sum();
    H.row(a) *= shrink;
    largest(a, 0) = after;
  }
  multiply<T>(S, V, H, 1, true);
}

template <class T>
void SoftmaxCore<T>::forward(const Call<T>& call,
                             Index /*head*/,
                             const ConstTokens<T>& Q,
                             const ConstTokens<T>& K,
                             const ConstTokens<T>& V,
                             Tokens<T> H,
                             Cache<T>& cache) const {
  using std::log;
  const Index n = Q.rows();
  TokenMap<T> log_sums = cache.array(kLogSums, n, 1);
  typename Workspace<T>::Scope scope(*call.workspace);
  TokenMap<T> tile = scope.take(kTile, kTile);
  TokenMap<T> sums = scope.take(kTile, 1);
  H.setZero();
  for (Index i = 0; i < n; i += kTile) {
    const Index rows = std::min(kTile, n - i);
    Tokens<T> largest = log_sums.middleRows(i, rows);
    Tokens<T> sum = sums.topRows(rows);
    Tokens<T> block = H.middleRows(i, rows);
    largest.setConstant(T(kMinusInfinity));
    sum.setZero();
    for (Index j = 0; j < last_key(i + rows, n); j += kTile) {
      const Index cols = std::min(kTile, n - j);
      Tokens<T> S = tile.topLeftCorner(rows, cols);
      scores(call, Q, i, K, j, S);
      add_tile<T>(S, V.middleRows(j, cols), largest, sum, block);
    }
    for (Index a = 0; a < rows; ++a) {
      const bool empty = largest(a, 0) == T(kMinusInfinity);
      // No key: the row is 0, and 0 in the place of -inf keeps the backward pass finite.
      largest(a, 0) = empty ? T(0) : T(largest(a, 0) + log(sum(a, 0)));
      if (!empty) block.row(a) /= sum(a, 0);
    }
  }
}

/// With P = softmax(S) made again from the logarithms of the sums: dV = P^T dH,
/// dS = P o (dH V^T - (dH o H) 1), dQ = scale dS K, dK = scale dS^T Q.
template <class T>
void SoftmaxCore<T>::backward(const Call<T>& call,
                              Index /*head*/,
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
  typename Workspace<T>::Scope scope(*call.workspace);
  TokenMap<T> p_tile = scope.take(kTile, kTile);
  TokenMap<T> ds_tile = scope.take(kTile, kTile);
  dQ.setZero();
  dK.setZero();
  dV.setZero();
  for (Index i = 0; i < n; i += kTile) {
    const Index rows = std::min(kTile, n - i);
    for (Index j = 0; j < last_key(i + rows, n); j += kTile) {
      const Index cols = std::min(kTile, n - j);
      Tokens<T> P = p_tile.topLeftCorner(rows, cols);
      Tokens<T> dS = ds_tile.topLeftCorner(rows, cols);
      scores(call, Q, i, K, j, P);
      for (Index a = 0; a < rows; ++a) {
        P.row(a).array() -= log_sums(i + a, 0);
        exp_values(P.row(a).data(), P.row(a).data(), cols);
      }
      multiply_transposed<T>(P, dH.middleRows(i, rows), dV.middleRows(j, cols), 1, true);
      multiply_by_transpose<T>(dH.middleRows(i, rows), V.middleRows(j, cols), dS);
      for (Index a = 0; a < rows; ++a) {
        const T mean = dH.row(i + a).dot(H.row(i + a));
        dS.row(a).array() = P.row(a).array() * (dS.row(a).array() - mean);
      }
      multiply<T>(dS, K.middleRows(j, cols), dQ.middleRows(i, rows), scale_, true);
      multiply_transposed<T>(dS, Q.middleRows(i, rows), dK.middleRows(j, cols), scale_, true);
    }
  }
}

}  // namespace

void SoftmaxOptions::visit(OptionVisitor& v) {
  v.visit("output_projection", output_projection, "a linear map of the heads side by side");
}

template <class T>
std::unique_ptr<Attention<T>> softmax(ParameterList& list,
                                      const std::string& prefix,
                                      const AttentionShape& shape,
                                      const SoftmaxOptions& options) {
  shape.validate("softmax");
  return std::make_unique<MultiHead<T>>(
      list,
      prefix,
      shape,
      std::make_unique<SoftmaxCore<T>>(shape),
      MultiHeadOptions{.output_projection = options.output_projection});
}

MATAPPROX_INSTANTIATE_MECHANISM(softmax, SoftmaxOptions);

}  // namespace matapprox::attention
