#include "matapprox/attention/layers/block.hpp"

#include "attention/kernels/instantiate.hpp"
#include "attention/layers/constants.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {
namespace {

// Indices of the cache's children, then of its arrays: the input of F and, in a pre-norm block, the
// input of A.
constexpr Index kAttention = 0;
constexpr Index kNorm1 = 1;
constexpr Index kNorm2 = 2;
constexpr Index kFeedForward = 3;
constexpr Index kFeedForwardInput = 0;
constexpr Index kAttentionInput = 1;

}  // namespace

void BlockOptions::visit(OptionVisitor& v) {
  v.visit_enum(
      "block", kind, "layer norms after the residual sums, before the layers, or attention alone");
  v.visit("feed_forward",
          feed_forward,
          "hidden width of the feed-forward layer, as a multiple of d; 0: no such layer");
  v.visit("dropout", dropout, "dropout rate after attention and feed-forward");
  v.visit("inner_skip", inner_skip, "add the attention's input to its output once more");
  v.visit("outer_skip", outer_skip, "add a block's input to its output (SimpleTRON)");
  v.visit("norm_epsilon", norm_epsilon, "added to the variance in each layer norm; BERT: 1e-12");
}

template <class T>
Block<T>::Block(ParameterList& list,
                const std::string& prefix,
                std::unique_ptr<Attention<T>> attention,
                Index width,
                Index number,
                const BlockOptions& options)
    : options_(options),
      attention_(std::move(attention)),
      attention_dropout_(options.dropout, block_attention_dropout(number)),
      feed_forward_dropout_(options.dropout, block_forward_dropout(number)) {
  check_width("block", "feed_forward", options.feed_forward, 0);
  const bool bare = options.kind == BlockKind::kBare;
  if (bare) {
    require(!options.inner_skip && !options.outer_skip, "block: a bare block has no skips");
    return;
  }
  require(attention_->width_out() == width,
          "block: attention maps tokens of width {} to tokens of width {}; only a bare block may "
          "change the width",
          attention_->width_out(),
          width);
  norm1_ = std::make_unique<LayerNorm<T>>(list, prefix + ".norm1", width, options.norm_epsilon);
  if (options.feed_forward == 0) return;
  norm2_ = std::make_unique<LayerNorm<T>>(list, prefix + ".norm2", width, options.norm_epsilon);
  feed_forward_ = std::make_unique<FeedForward<T>>(
      list, prefix + ".feed_forward", width, options.feed_forward * width, width);
}

template <class T>
void Block<T>::attend(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  attention_->forward(context, X, Y, cache.child(kAttention));
  if (options_.inner_skip) Y += X;
  attention_dropout_.apply(context, Y);
}

template <class T>
void Block<T>::attend_backward(
    Context<T> context, In<T> X, Out<T> dA, Out<T> dX, Cache<T>& cache) const {
  attention_dropout_.apply(context, dA);
  attention_->backward(context, X, dA, dX, cache.child(kAttention));
  if (options_.inner_skip) dX += dA;
}

template <class T>
void Block<T>::forward_post(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  attend(context, X, Y, cache);
  Y += X;
  if (!feed_forward_) {
    norm1_->forward(context, Y, Y, cache.child(kNorm1));
    return;
  }
  TokenMap<T> Z = cache.array(kFeedForwardInput, X.rows(), X.cols());
  norm1_->forward(context, Y, Z, cache.child(kNorm1));
  feed_forward_->forward(context, Z, Y, cache.child(kFeedForward));
  feed_forward_dropout_.apply(context, Y);
  Y += Z;
  norm2_->forward(context, Y, Y, cache.child(kNorm2));
}

template <class T>
void Block<T>::backward_post(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> dZ = scope.take(X.rows(), X.cols());
  TokenMap<T> dF = scope.take(X.rows(), X.cols());
  dZ = dY;
  if (feed_forward_) {
    const TokenMap<T> Z = cache.array(kFeedForwardInput, X.rows(), X.cols());
    norm2_->backward(context, Z, dY, dF, cache.child(kNorm2));
    dZ = dF;
    feed_forward_dropout_.apply(context, dF);
    feed_forward_->backward(context, Z, dF, dX, cache.child(kFeedForward));
    dZ += dX;
  }
  norm1_->backward(context, X, dZ, dZ, cache.child(kNorm1));
  dF = dZ;
  attend_backward(context, X, dF, dX, cache);
  dX += dZ;
}

template <class T>
void Block<T>::forward_pre(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  TokenMap<T> U = cache.array(kAttentionInput, X.rows(), X.cols());
  norm1_->forward(context, X, U, cache.child(kNorm1));
  attend(context, U, Y, cache);
  Y += X;
  if (!feed_forward_) return;
  TokenMap<T> W = cache.array(kFeedForwardInput, X.rows(), X.cols());
  norm2_->forward(context, Y, W, cache.child(kNorm2));
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> F = scope.take(X.rows(), X.cols());
  feed_forward_->forward(context, W, F, cache.child(kFeedForward));
  feed_forward_dropout_.apply(context, F);
  Y += F;
}

template <class T>
void Block<T>::backward_pre(
    Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> dZ = scope.take(X.rows(), X.cols());
  TokenMap<T> d_branch = scope.take(X.rows(), X.cols());
  dZ = dY;
  if (feed_forward_) {
    const TokenMap<T> W = cache.array(kFeedForwardInput, X.rows(), X.cols());
    d_branch = dY;
    feed_forward_dropout_.apply(context, d_branch);
    feed_forward_->backward(context, W, d_branch, dX, cache.child(kFeedForward));
    norm2_->backward(context, W, dX, dX, cache.child(kNorm2));
    dZ += dX;
  }
  const TokenMap<T> U = cache.array(kAttentionInput, X.rows(), X.cols());
  d_branch = dZ;
  attend_backward(context, U, d_branch, dX, cache);
  norm1_->backward(context, X, dX, dX, cache.child(kNorm1));
  dX += dZ;
}

template <class T>
void Block<T>::forward(Context<T> context, In<T> X, Out<T> Y, Cache<T>& cache) const {
  switch (options_.kind) {
    case BlockKind::kBare:
      attend(context, X, Y, cache);
      break;
    case BlockKind::kPostNorm:
      forward_post(context, X, Y, cache);
      break;
    case BlockKind::kPreNorm:
      forward_pre(context, X, Y, cache);
      break;
  }
  if (options_.outer_skip) Y += X;
}

template <class T>
void Block<T>::backward(Context<T> context, In<T> X, In<T> dY, Out<T> dX, Cache<T>& cache) const {
  switch (options_.kind) {
    case BlockKind::kBare: {
      typename Workspace<T>::Scope scope(*context.workspace);
      TokenMap<T> dA = scope.take(dY.rows(), dY.cols());
      dA = dY;
      attend_backward(context, X, dA, dX, cache);
      break;
    }
    case BlockKind::kPostNorm:
      backward_post(context, X, dY, dX, cache);
      break;
    case BlockKind::kPreNorm:
      backward_pre(context, X, dY, dX, cache);
      break;
  }
  if (options_.outer_skip) dX += dY;
}

template <class T>
ConstTokens<T> Block<T>::attention_input(In<T> X, Cache<T>& cache) const {
  if (options_.kind != BlockKind::kPreNorm) return X;
  return cache.array(kAttentionInput, X.rows(), X.cols());
}

MATAPPROX_INSTANTIATE_LAYER(Block);

}  // namespace matapprox::attention
