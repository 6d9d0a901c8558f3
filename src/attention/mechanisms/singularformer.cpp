#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attention/kernels/axis_softmax.hpp"
#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "matapprox/attention/layers/dropout.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/mechanisms/low_rank.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Arrays of the cache. alpha and alphahat are recomputed from the scores and the logarithms of the
// sums of their rows and columns. If the mixtures are not shared, f_U, f_Q, f_K, f_V are stored one
// below the other, and so are the three poolings.
enum SingularformerArray : Index {
  kMixtureScores,    ///< X W_a + b_a, N x r
  kRowLogSums,       ///< N
  kColumnLogSums,    ///< r
  kPooledTokens,     ///< X' = alphahat X, r x d
  kPooledParts,      ///< its queries, keys and values, r x 3 d
  kPooledAttention,  ///< A' of all heads, one below the other, h r x r
  kPooledHeads,      ///< A' V', r x d
  kPooledOutput,     ///< output projection of A' V', r x d
  kKeptAttention     ///< A' after dropout, h r x r; without dropout, kPooledAttention is used
};

/// Computes log sum_j exp(s_ij) of each row i.
template <class T>
void row_log_sums(Context<T> context, In<T> S, Out<T> sums) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> shifted = scope.take(1, S.cols());
  for (Index i = 0; i < S.rows(); ++i)
    sums(i, 0) = kernels::softmax_row(S.row(i).data(), shifted.data(), S.cols());
}

/// Computes log sum_i exp(s_ij) over the tokens i, for each column j; 0 without tokens.
template <class T>
void column_log_sums(Context<T> context, In<T> S, Out<T> sums) {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> largest = scope.take(1, S.cols());
  TokenMap<T> shifted = scope.take(1, S.cols());
  TokenMap<T> sum = scope.take(1, S.cols());
  sums.setZero();
  if (!largest_of_columns<T>(context.mask, S, largest)) return;
  sum.setZero();
  for (Index i = 0; i < S.rows(); ++i) {
    if (!is_token(context.mask, i)) continue;
    shifted = S.row(i) - largest.row(0);
    kernels::exp(shifted.data(), shifted.data(), S.cols());
    sum += shifted;
  }
  for (Index j = 0; j < S.cols(); ++j) sums(0, j) = largest(0, j) + std::log(sum(0, j));
}

/// Thirds of the projected pooled tokens.
constexpr Index kQueries = 0;
constexpr Index kKeys = 1;
constexpr Index kValues = 2;
constexpr Index kParts = 3;

/// Sets the diagonal of A to 0. Returns the sum of the squares of the other entries.
template <class T>
T keep_off_diagonal(Out<T> A) {
  A.diagonal().setZero();
  return A.squaredNorm();
}

template <class T>
class Singularformer final : public Attention<T> {
 public:
  Singularformer(ParameterList& list,
                 const std::string& prefix,
                 const AttentionShape& shape,
                 const SingularformerOptions& options)
      : shape_(shape),
        options_(options),
        dropout_(shape),
        rank_(options.rank == 0 ? shape.head_width() : options.rank),
        scale_(options.scaled ? 1 / std::sqrt(static_cast<double>(shape.head_width())) : 1.0),
        unfold_(list, prefix + ".mixture", shape.width, rank_, LinearStart::narrow()),
        query_(list, prefix + ".query", shape.width, shape.width, LinearStart::narrow()),
        key_(list, prefix + ".key", shape.width, shape.width, LinearStart::narrow()),
        value_(list, prefix + ".value", shape.width, shape.width, LinearStart::narrow()),
        output_(list, prefix + ".output", shape.width, shape.width, LinearStart::narrow()) {
    if (options.shared_mixtures) return;
    for (const char* part : {"query", "key", "value"}) {
      mixtures_.emplace_back(
          list, prefix + ".mixture_" + part, shape.width, rank_, LinearStart::narrow());
    }
  }

  Index width_out() const override { return shape_.width; }
  Index heads() const override { return shape_.heads; }
  Index residual_score_count(Index /*length*/) const override {
    return options_.residual_scores ? shape_.heads * rank_ * rank_ : 0;
  }

  void forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const override {
    Arrays a = attend(context, X, cache);
    for (Index h = 0; h < shape_.heads; ++h)
      multiply<T>(a.kept_attention(h), part(a.parts, kValues, h), a.heads(h));
    output_.apply(context, a.H, a.O);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> alpha = scope.take(X.rows(), rank_);
    unfolding(a, alpha);
    multiply<T>(alpha, a.O, Y);
    if (context.auxiliary == nullptr) return;
    TokenMap<T> weights = scope.take(X.rows(), rank_);
    pooling(context.mask, a, pool_of(kValues), weights);
    clear_padding<T>(context.mask, alpha);
    *context.auxiliary += auxiliary_loss(context, a, alpha, weights);
  }
  void backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const override {
    const Index n = X.rows();
    const Index d = shape_.width;
    Arrays a = arrays(context, cache, n);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> W = scope.take(n, rank_);  // alpha, then alphahat^T
    TokenMap<T> dW = scope.take(n, rank_);
    TokenMap<T> dS = scope.take(n, rank_);
    TokenMap<T> dO = scope.take(rank_, d);
    TokenMap<T> dH = scope.take(rank_, d);
    TokenMap<T> d_parts = scope.take(rank_, 3 * d);
    TokenMap<T> d_pooled = scope.take(rank_, d);

    unfolding(a, W);
    multiply_by_transpose<T>(dY, a.O, dS);
    multiply_transposed<T>(W, dY, dO);
    if (context.auxiliary_weight != 0) orthogonal_backward(context, W, dS);
    softmax_rows_backward<T>(W, 1, dS, dS);

    output_.pull_back(context, a.H, dO, dH, false);
    attend_backward(context, a, dH, d_parts);
    const std::array<const Linear<T>*, kParts> projections{&query_, &key_, &value_};
    for (Index pool = 0; pool < pooled_count(); ++pool) {
      bool add = false;
      for (Index which = 0; which < kParts; ++which) {
        if (pool_of(which) != pool) continue;
        projections[static_cast<std::size_t>(which)]->pull_back(
            context, a.pooled(pool), part(d_parts, which), d_pooled, add);
        add = true;
      }
      pooling(context.mask, a, pool, W);
      multiply<T>(W, d_pooled, dX, 1, pool > 0);
      multiply_by_transpose<T>(X, d_pooled, dW);
      if (context.auxiliary_weight != 0 && pool == pool_of(kValues))
        orthogonal_backward(context, W, dW);
      softmax_columns_backward<T>(context, W, 1, dW, dW);
      if (mixtures_.empty()) {
        dS += dW;
      } else {
        mixtures_[static_cast<std::size_t>(pool)].pull_back(context, X, dW, dX, true);
      }
    }
    unfold_.pull_back(context, X, dS, dX, true);
  }
  void apply_map(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const override {
    map(context, X, head, B, false, Y, cache);
  }
  void apply_map_transpose(
      Context<T> context, In<T> X, Index head, In<T> B, Out<T> Y, Cache<T>& cache) const override {
    map(context, X, head, B, true, Y, cache);
  }

  /// Multiplications are those of [WKZL23, Table 1]. Stored numbers are d N fewer, because the
  /// backward pass does not need the result, and N + r more for the logarithms of sums.
  AttentionCost cost(Index length) const override {
    const Index d = shape_.width;
    const Index r = rank_;
    const Index mixtures = 1 + static_cast<Index>(mixtures_.size());
    const Index pooled = pooled_count();
    return {(mixtures + pooled + 1) * r * d * length + 4 * r * d * d + 2 * r * r * d,
            (mixtures * r + 1) * length + pooled * r + (5 + pooled) * r * d +
                (dropout_.rate() > 0 ? 2 : 1) * shape_.heads * r * r};
  }

 private:
  struct Arrays {
    TokenMap<T> S, row_logs, column_logs, X, parts, A, kept_A, H, O;
    Index length;
    Index width;
    Index head_width;
    Index rank;
    Arrays(Cache<T>& cache, Index n, const AttentionShape& shape, Index r, Index pooled, bool drops)
        : S(cache.array(kMixtureScores, pooled == 1 ? n : (pooled + 1) * n, r)),
          row_logs(cache.array(kRowLogSums, n, 1)),
          column_logs(cache.array(kColumnLogSums, pooled, r)),
          X(cache.array(kPooledTokens, pooled * r, shape.width)),
          parts(cache.array(kPooledParts, r, 3 * shape.width)),
          A(cache.array(kPooledAttention, shape.heads * r, r)),
          kept_A(cache.array(drops ? kKeptAttention : kPooledAttention, shape.heads * r, r)),
          H(cache.array(kPooledHeads, r, shape.width)),
          O(cache.array(kPooledOutput, r, shape.width)),
          length(n),
          width(shape.width),
          head_width(shape.head_width()),
          rank(r) {}
    auto unfold_scores() const { return S.topRows(length); }
    auto unfold_scores() { return S.topRows(length); }
    /// Scores of a pooling; those of the unfolding if the mixtures are shared.
    auto pool_scores(Index pool) { return S.middleRows(first_pool_row(pool), length); }
    auto pool_scores(Index pool) const { return S.middleRows(first_pool_row(pool), length); }
    Index first_pool_row(Index pool) const { return S.rows() == length ? 0 : (pool + 1) * length; }
    auto pooled(Index pool) { return X.middleRows(pool * rank, rank); }
    auto attention(Index h) { return A.middleRows(h * rank, rank); }
    auto kept_attention(Index h) { return kept_A.middleRows(h * rank, rank); }
    auto heads(Index h) { return H.middleCols(h * head_width, head_width); }
  };
  /// Part 0, 1 or 2 of an r x 3 d array: queries, keys or values, of all heads or of one.
  auto part(TokenMap<T>& parts, Index which) const {
    return parts.middleCols(which * shape_.width, shape_.width);
  }
  auto part(TokenMap<T>& parts, Index which, Index head) const {
    const Index p = shape_.head_width();
    return parts.middleCols(which * shape_.width + head * p, p);
  }

  /// Returns the scores of a head in the slice of a layer; null below the first layer, or if there
  /// are no residual scores.
  T* scores_of(T* all, Index layer, Index head) const {
    if (all == nullptr || layer < 0 || !options_.residual_scores) return nullptr;
    return all + layer * residual_score_count(0) + head * rank_ * rank_;
  }

  /// Y = alpha (A' (alphahat B)), or the transpose: Y = alphahat^T (A'^T (alpha^T B)).
  void map(Context<T> context,
           In<T> X,
           Index head,
           In<T> B,
           bool transposed,
           Out<T> Y,
           Cache<T>& cache) const {
    Arrays a = attend(context, X, cache);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> W = scope.take(X.rows(), rank_);
    TokenMap<T> pooled = scope.take(rank_, B.cols());
    TokenMap<T> mixed = scope.take(rank_, B.cols());
    const auto fill_weights = [&](bool unfolds) {
      if (unfolds) {
        unfolding(a, W);
      } else {
        pooling(context.mask, a, pool_of(kValues), W);
      }
    };
    fill_weights(transposed);
    multiply_transposed<T>(W, B, pooled);
    if (transposed) {
      multiply_transposed<T>(a.kept_attention(head), pooled, mixed);
    } else {
      multiply<T>(a.kept_attention(head), pooled, mixed);
    }
    fill_weights(!transposed);
    multiply<T>(W, mixed, Y);
  }

  /// Computes A' from X, the first part of both the forward pass and the effective matrix.
  Arrays attend(Context<T> context, In<T> X, Cache<T>& cache) const {
    shape_.check_sample(X.rows(), X.cols());
    Arrays a = arrays(context, cache, X.rows());
    unfold_.apply(context, X, a.unfold_scores());
    row_log_sums<T>(context, a.unfold_scores(), a.row_logs);
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> weights = scope.take(X.rows(), rank_);
    TokenMap<T> scores = scope.take(rank_, rank_);
    for (Index pool = 0; pool < pooled_count(); ++pool) {
      if (!mixtures_.empty()) {
        mixtures_[static_cast<std::size_t>(pool)].apply(context, X, a.pool_scores(pool));
      }
      column_log_sums<T>(context, a.pool_scores(pool), a.column_logs.middleRows(pool, 1));
      pooling(context.mask, a, pool, weights);
      multiply_transposed<T>(weights, X, a.pooled(pool));
    }
    query_.apply(context, a.pooled(pool_of(kQueries)), part(a.parts, kQueries));
    key_.apply(context, a.pooled(pool_of(kKeys)), part(a.parts, kKeys));
    value_.apply(context, a.pooled(pool_of(kValues)), part(a.parts, kValues));
    for (Index h = 0; h < shape_.heads; ++h) {
      multiply_by_transpose<T>(part(a.parts, kQueries, h), part(a.parts, kKeys, h), scores, scale_);
      if (T* below = scores_of(context.residual_scores, shape_.layer - 1, h))
        scores += ConstTokenMap<T>(below, rank_, rank_);
      if (T* own = scores_of(context.residual_scores, shape_.layer, h))
        TokenMap<T>(own, rank_, rank_) = scores;
      softmax_rows<T>(scores, 1, a.attention(h));
      if (!dropout_.acts(context)) continue;
      a.kept_attention(h) = a.attention(h);
      dropout_.apply<T>(context, h, 0, 0, a.kept_attention(h));
    }
    return a;
  }
  /// Computes alpha, N x r, whose rows sum to one.
  void unfolding(const Arrays& a, Out<T> alpha) const {
    const auto S = a.unfold_scores();
    for (Index i = 0; i < alpha.rows(); ++i) {
      alpha.row(i).array() = S.row(i).array() - a.row_logs(i, 0);
      kernels::exp(alpha.row(i).data(), alpha.row(i).data(), alpha.cols());
    }
  }
  /// Computes alphahat^T, N x r, whose columns sum to one over the tokens.
  void pooling(Mask mask, const Arrays& a, Index pool, Out<T> weights) const {
    const auto S = a.pool_scores(pool);
    for (Index i = 0; i < weights.rows(); ++i) {
      if (!is_token(mask, i)) {
        weights.row(i).setZero();
        continue;
      }
      weights.row(i) = S.row(i) - a.column_logs.row(pool);
      kernels::exp(weights.row(i).data(), weights.row(i).data(), weights.cols());
    }
  }

  /// Number of poolings alphahat_Q, alphahat_K, alphahat_V: one for all, or three.
  Index pooled_count() const { return mixtures_.empty() ? 1 : kParts; }
  Index pool_of(Index part) const { return mixtures_.empty() ? 0 : part; }
  Arrays arrays(Context<T> context, Cache<T>& cache, Index length) const {
    return {cache, length, shape_, rank_, pooled_count(), dropout_.acts(context)};
  }

  double orthogonal_factor() const { return factor(options_.orthogonal_weight); }
  double diagonal_factor() const {
    return factor(options_.diagonal_weight) / static_cast<double>(shape_.heads);
  }
  /// Factor of a loss that is a weighted mean over r x r entries and over layers.
  double factor(double weight) const {
    const double mean = weight / static_cast<double>(rank_ * rank_ * shape_.layers);
    if (options_.layer_weights == SingularformerLayerWeights::kEqual) return mean;
    return std::ldexp(mean, static_cast<int>(shape_.layers - std::max<Index>(shape_.layer, 1)));
  }
  T auxiliary_loss(Context<T> context, Arrays& a, In<T> alpha, In<T> weights) const {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> gram = scope.take(rank_, rank_);
    multiply_transposed<T>(alpha, alpha, gram);
    T orthogonal = keep_off_diagonal<T>(gram);
    multiply_transposed<T>(weights, weights, gram);
    orthogonal += keep_off_diagonal<T>(gram);
    T diagonal(0);
    for (Index h = 0; h < shape_.heads; ++h) {
      gram = a.attention(h);
      const T squares = keep_off_diagonal<T>(gram);
      diagonal +=
          options_.diagonal_loss == SingularformerDiagonalLoss::kPrinted ? squares : gram.sum();
    }
    return orthogonal * T(orthogonal_factor()) + diagonal * T(diagonal_factor());
  }
  /// dW += weight times the derivative of the squares off the diagonal of W^T W, without rows of
  /// padding.
  void orthogonal_backward(Context<T> context, In<T> W, Out<T> dW) const {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> tokens = scope.take(W.rows(), rank_);
    TokenMap<T> gram = scope.take(rank_, rank_);
    copy_tokens<T>(context.mask, W, tokens);
    multiply_transposed<T>(tokens, tokens, gram);
    keep_off_diagonal<T>(gram);
    multiply<T>(tokens, gram, dW, 4 * context.auxiliary_weight * orthogonal_factor(), true);
  }
  void diagonal_backward(Context<T> context, In<T> A, Out<T> dA) const {
    const bool printed = options_.diagonal_loss == SingularformerDiagonalLoss::kPrinted;
    const T weight(context.auxiliary_weight * diagonal_factor());
    for (Index i = 0; i < rank_; ++i) {
      for (Index j = 0; j < rank_; ++j) {
        if (i != j) dA(i, j) += weight * (printed ? T(2) * A(i, j) : T(1));
      }
    }
  }
  /// Sets the gradients of queries, keys and values from that of the heads.
  /// The gradient of the scores is that of this layer's softmax plus those that the layers above
  /// have added. It is passed on both to this layer's queries and keys and to the scores of the
  /// layer below.
  void attend_backward(Context<T> context, Arrays& a, TokenMap<T> dH, TokenMap<T> d_parts) const {
    typename Workspace<T>::Scope scope(*context.workspace);
    TokenMap<T> dS = scope.take(rank_, rank_);
    const Index p = shape_.head_width();
    for (Index h = 0; h < shape_.heads; ++h) {
      multiply_transposed<T>(
          a.kept_attention(h), dH.middleCols(h * p, p), part(d_parts, kValues, h));
      multiply_by_transpose<T>(dH.middleCols(h * p, p), part(a.parts, kValues, h), dS);
      dropout_.apply<T>(context, h, 0, 0, dS);
      if (context.auxiliary_weight != 0) diagonal_backward(context, a.attention(h), dS);
      softmax_rows_backward<T>(a.attention(h), 1, dS, dS);
      if (T* own = scores_of(context.residual_scores_gradient, shape_.layer, h))
        dS += ConstTokenMap<T>(own, rank_, rank_);
      if (T* below = scores_of(context.residual_scores_gradient, shape_.layer - 1, h))
        TokenMap<T>(below, rank_, rank_) += dS;
      multiply<T>(dS, part(a.parts, kKeys, h), part(d_parts, kQueries, h), scale_);
      multiply_transposed<T>(dS, part(a.parts, kQueries, h), part(d_parts, kKeys, h), scale_);
    }
  }

  AttentionShape shape_;
  SingularformerOptions options_;
  ProbabilityDropout dropout_;
  Index rank_;
  double scale_;
  Linear<T> unfold_;                 ///< f_U, and also f_Q, f_K, f_V if they are shared
  std::vector<Linear<T>> mixtures_;  ///< f_Q, f_K, f_V, or empty if they are shared
  Linear<T> query_;
  Linear<T> key_;
  Linear<T> value_;
  Linear<T> output_;
};

}  // namespace

void SingularformerOptions::visit(OptionVisitor& v) {
  v.visit("rank", rank, "number r of token mixtures; 0: the width of a head");
  v.visit("residual_scores", residual_scores, "add the scores of the layer below");
  v.visit(
      "shared_mixtures", shared_mixtures, "use one map f for unfolding, queries, keys and values");
  v.visit("scaled",
          scaled,
          "divide scores by the square root of the head's width; the paper's formula does not");
  v.visit("orthogonal_weight",
          orthogonal_weight,
          "gamma_1, weight of the loss for mixtures that are not orthogonal");
  v.visit("diagonal_weight",
          diagonal_weight,
          "gamma_2, weight of the loss for attention between mixtures");
  v.visit_enum("diagonal_loss",
               diagonal_loss,
               "loss for attention between mixtures: squared entries, as in the paper, or entries, "
               "as in its code");
  v.visit_enum("layer_weights",
               layer_weights,
               "weights of the layers in the losses: equal, or as in the paper's code");
}

template <class T>
std::unique_ptr<Attention<T>> singularformer(ParameterList& list,
                                             const std::string& prefix,
                                             const AttentionShape& shape,
                                             const SingularformerOptions& options) {
  shape.validate("singularformer", Probabilities::kFormed);
  check_width("singularformer", "rank", options.rank, 0);
  require(options.orthogonal_weight >= 0 && std::isfinite(options.orthogonal_weight),
          "singularformer: orthogonal_weight {} is not a number of at least 0",
          options.orthogonal_weight);
  require(options.diagonal_weight >= 0 && std::isfinite(options.diagonal_weight),
          "singularformer: diagonal_weight {} is not a number of at least 0",
          options.diagonal_weight);
  require(!shape.causal, "singularformer: cannot be causal: each of its mixtures holds all tokens");
  return std::make_unique<Singularformer<T>>(list, prefix, shape, options);
}

MATAPPROX_INSTANTIATE_MECHANISM(singularformer, SingularformerOptions);

}  // namespace matapprox::attention
