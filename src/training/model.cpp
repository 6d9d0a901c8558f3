#include "matapprox/training/model.hpp"

#include <algorithm>
#include <cmath>

#include "attention/instantiate.hpp"
#include "matapprox/attention/registry.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::training {

using attention::Cache;
using attention::ConstTokens;
using attention::LayerContext;
using attention::TokenMap;
using attention::Tokens;
using attention::Workspace;

namespace {

// Arrays of a model's cache: pooled tokens; normed tokens; what layers pass on and its gradient;
// pooled tokens through tanh, and what dropout leaves of them; from kTokens on what enters each
// block. Children: the blocks from 0 on, after them the layers around them.
constexpr std::size_t kPooled = 0;
constexpr std::size_t kNormed = 1;
constexpr std::size_t kResidualScores = 2;
constexpr std::size_t kResidualScoresGradient = 3;
constexpr std::size_t kPoolerOutput = 4;
constexpr std::size_t kHeadInput = 5;
constexpr std::size_t kTokens = 6;
constexpr std::size_t kNormChild = 0;
constexpr std::size_t kHeadChild = 1;
constexpr std::size_t kEmbeddingNormChild = 2;

constexpr Index kMaxLayers = 1024;
/// Number of the dropout before the head; those of the blocks are below it.
constexpr Index kHeadDropout = Index{1} << 20;

attention::Sequence sequence_of(const tasks::Sample& sample) {
  return {sample.tokens, sample.features};
}

/// Tokens that the blocks see beside those of the sample.
Index added_tokens(const ModelDescription& description) {
  return description.options.embedding.cls_token ? 1 : 0;
}

template <class T>
std::unique_ptr<attention::Block<T>> make_block(attention::ParameterList& list,
                                                const ModelDescription& description,
                                                Index layer) {
  const ModelOptions& options = description.options;
  attention::AttentionShape shape;
  shape.width = options.width;
  shape.heads = options.heads;
  shape.length = description.task.length + added_tokens(description);
  shape.layer = layer;
  shape.layers = options.layers;
  shape.causal = options.causal;
  shape.attention_dropout = options.attention_dropout;
  shape.seed = description.seed;
  const std::string prefix = fmt::format("block{}", layer);
  auto mechanism = attention::make_attention<T>(
      options.attention, list, prefix + ".attention", shape, description.attention_options);
  require(mechanism->width_out() == options.width || layer + 1 == options.layers,
          "model: {} makes tokens of width {}, the next layer takes {}",
          options.attention,
          mechanism->width_out(),
          options.width);
  return std::make_unique<attention::Block<T>>(
      list, prefix, std::move(mechanism), options.width, layer, options.block);
}

attention::Pool pool_of(const ModelDescription& description) {
  return description.task.answer == tasks::Answer::kTokenClass ? attention::Pool::kNone
                                                               : description.options.pool;
}

}  // namespace

void ModelOptions::visit(OptionVisitor& v) {
  v.visit("attention", attention, "the mechanism, one of those that `attention list` shows");
  v.visit("width", width, "d: width of a token");
  v.visit("heads", heads, "heads of an attention layer");
  v.visit("layers", layers, "blocks, one after the other");
  v.visit("causal", causal, "a token sees itself and those before it only");
  v.visit("attention_dropout",
          attention_dropout,
          "share of attention probabilities dropped, where a mechanism forms them");
  block.visit(v);
  v.visit("final_norm", final_norm, "a norm after the last pre_norm block");
  embedding.visit(v);
  v.visit("embedding_dropout", embedding_dropout, "share of numbers dropped after the embedding");
  v.visit_enum("pool", pool, "what the head reads: all tokens, the first, mean, largest");
  v.visit_enum("head", head, "linear map, or Linear - GELU - Linear");
  v.visit("head_hidden", head_hidden, "hidden width of an mlp head; 0: that of its input");
  v.visit("pooler", pooler, "a linear map and tanh between pool and head (BERT)");
  v.visit("head_dropout", head_dropout, "share of numbers dropped before the head");
}

NamedOptions named_options(const ModelOptions& options) {
  NamedOptions named;
  for (const OptionText& option : list_options(options))
    named.emplace_back(option.name, option.value);
  return named;
}

template <class T>
Model<T>::Model(ModelDescription description)
    : description_(std::move(description)),
      dropout_(description_.options.embedding_dropout, 0),
      head_dropout_(description_.options.head_dropout, kHeadDropout) {
  const ModelOptions& options = description_.options;
  const tasks::TaskShape& task = description_.task;
  attention::check_width("model", "width", options.width, 1);
  require(options.layers >= 1 && options.layers <= kMaxLayers,
          "model: layers {} is outside 1..{}",
          options.layers,
          kMaxLayers);
  require(task.length >= 1, "model: a task of length {}", task.length);
  attention::check_width("model", "head_hidden", options.head_hidden, 0);
  outputs_ = task.answer == tasks::Answer::kNumber ? 1 : task.classes;
  require(outputs_ >= 1, "model: a task of {} classes", outputs_);
  const attention::Pool pool = pool_of(description_);
  require((pool == attention::Pool::kNone) == (task.answer == tasks::Answer::kTokenClass),
          "model: pool none is for tasks with an answer for each token");
  require(pool != attention::Pool::kNone || !options.embedding.cls_token,
          "model: cls_token is for tasks with one answer a sample");
  embedding_ = std::make_unique<attention::Embedding<T>>(parameters_,
                                                         "embedding",
                                                         options.width,
                                                         task.length,
                                                         task.vocabulary,
                                                         task.features,
                                                         options.embedding);
  const double epsilon = options.block.norm_epsilon;
  if (options.embedding.norm) {
    embedding_norm_ = std::make_unique<attention::LayerNorm<T>>(
        parameters_, "embedding.norm", options.width, epsilon);
  }
  for (Index l = 0; l < options.layers; ++l)
    blocks_.push_back(make_block<T>(parameters_, description_, l));
  const Index width = blocks_.back()->width_out();
  if (options.block.kind == attention::BlockKind::kPreNorm && options.final_norm)
    norm_ = std::make_unique<attention::LayerNorm<T>>(parameters_, "norm", width, epsilon);
  pool_ = std::make_unique<attention::Pooling<T>>(
      pool, width, task.length + added_tokens(description_));
  const Index in = pool_->width_out();
  if (options.pooler)
    pooler_ = std::make_unique<attention::Linear<T>>(parameters_, "pooler", in, in);
  if (options.head == HeadKind::kLinear) {
    head_ = std::make_unique<attention::Linear<T>>(parameters_, "head", in, outputs_);
  } else {
    const Index hidden = options.head_hidden == 0 ? in : options.head_hidden;
    head_ = std::make_unique<attention::FeedForward<T>>(parameters_, "head", in, hidden, outputs_);
  }
}

template <class T>
const attention::Attention<T>& Model<T>::attention(Index layer) const {
  require(layer >= 0 && layer < layers(), "model: layer {} is outside 0..{}", layer, layers() - 1);
  return blocks_[static_cast<std::size_t>(layer)]->attention();
}

template <class T>
Index Model<T>::rows_in(const tasks::Sample& sample) const {
  return embedding_->check(sequence_of(sample), sample.mask);
}

template <class T>
Index Model<T>::rows_out(const tasks::Sample& sample) const {
  return pool_->rows_out(rows_in(sample));
}

template <class T>
attention::Mask Model<T>::mask(const tasks::Sample& sample, Cache<T>& cache) const {
  if (sample.mask.empty() || added_tokens(description_) == 0) return sample.mask;
  const auto mask = cache.bytes(static_cast<Index>(sample.mask.size()) + 1);
  mask.front() = 1;
  std::copy(sample.mask.begin(), sample.mask.end(), mask.begin() + 1);
  return mask;
}

template <class T>
Index Model<T>::width_of(Index layer) const {
  return layer < layers() ? description_.options.width : blocks_.back()->width_out();
}

template <class T>
TokenMap<T> Model<T>::tokens(Index layer, Index length, Cache<T>& cache) const {
  return cache.array(kTokens + static_cast<std::size_t>(layer), length, width_of(layer));
}

template <class T>
TokenMap<T> Model<T>::pool_input(Index length, Cache<T>& cache) const {
  return norm_ ? cache.array(kNormed, length, width_of(layers())) : tokens(layers(), length, cache);
}

template <class T>
TokenMap<T> Model<T>::head_input(Index length, Cache<T>& cache) const {
  return cache.array(pooler_ ? kHeadInput : kPooled, pool_->rows_out(length), pool_->width_out());
}

template <class T>
T* Model<T>::residual_scores(Index length, Cache<T>& cache) const {
  const Index size = blocks_.front()->attention().residual_score_count(length) * layers();
  return size == 0 ? nullptr : cache.array(kResidualScores, size, 1).data();
}

template <class T>
double Model<T>::training_numbers(Index length) const {
  const ModelOptions& options = description_.options;
  length += added_tokens(description_);
  const auto tokens = static_cast<double>(length) * static_cast<double>(options.width);
  const auto hidden = static_cast<double>(options.block.feed_forward);
  const bool bare = options.block.kind == attention::BlockKind::kBare;
  const bool pre = options.block.kind == attention::BlockKind::kPreNorm;
  // A norm keeps what it made; a feed-forward layer its input, hidden numbers and their slopes.
  double block = bare ? 0 : tokens * (pre ? 2 : 1);
  if (!bare && hidden > 0) block += tokens * (2 + 2 * hidden);
  double sum = 0;
  for (Index l = 0; l < layers(); ++l) {
    const auto own = static_cast<double>(attention(l).cost(length).stored);
    // Between passes all layers' numbers are there, in the backward pass one layer's gradients.
    sum += block + own + tokens;
    if (l == 0) sum += own;
  }
  // What the embedding made, and in the backward pass gradients of tokens: three of the model, two
  // of a block, one of the embedding.
  sum += 7 * tokens + (norm_ ? 2 * tokens : 0) + (embedding_norm_ ? tokens : 0);
  const double pooled =
      static_cast<double>(pool_->rows_out(length)) * static_cast<double>(pool_->width_out());
  return sum + (pooler_ ? 5 : 2) * pooled +
         static_cast<double>(attention(0).residual_score_count(length)) * 2 *
             static_cast<double>(layers());
}

template <class T>
ConstTokens<T> Model<T>::attention_input(Index layer, Index length, Cache<T>& cache) const {
  const auto number = static_cast<std::size_t>(layer);
  return blocks_[number]->attention_input(tokens(layer, length, cache), cache.child(number));
}

template <class T>
Cache<T>& Model<T>::attention_cache(Index layer, Cache<T>& cache) const {
  return attention::Block<T>::attention_cache(cache.child(static_cast<std::size_t>(layer)));
}

template <class T>
void Model<T>::forward(LayerContext<T> context,
                       const tasks::Sample& sample,
                       Tokens<T> out,
                       Cache<T>& cache) const {
  const Index n = rows_in(sample);
  context.mask = mask(sample, cache);
  context.residual_scores = residual_scores(n, cache);
  embedding_->forward(context, sequence_of(sample), tokens(0, n, cache));
  if (embedding_norm_) {
    embedding_norm_->forward(context,
                             tokens(0, n, cache),
                             tokens(0, n, cache),
                             cache.child(blocks_.size() + kEmbeddingNormChild));
  }
  dropout_.apply(context, tokens(0, n, cache));
  for (Index l = 0; l < layers(); ++l) {
    const auto number = static_cast<std::size_t>(l);
    blocks_[number]->forward(
        context, tokens(l, n, cache), tokens(l + 1, n, cache), cache.child(number));
  }
  if (norm_) {
    norm_->forward(context,
                   tokens(layers(), n, cache),
                   pool_input(n, cache),
                   cache.child(blocks_.size() + kNormChild));
  }
  TokenMap<T> pooled = cache.array(kPooled, pool_->rows_out(n), pool_->width_out());
  pool_->forward(context, pool_input(n, cache), pooled);
  TokenMap<T> read = head_input(n, cache);
  if (pooler_) {
    TokenMap<T> activated = cache.array(kPoolerOutput, pooled.rows(), pooled.cols());
    pooler_->apply(context, pooled, activated);
    activated = activated.unaryExpr([](const T& x) { return std::tanh(x); });
    read = activated;
  }
  head_dropout_.apply(context, read);
  head_->forward(context, read, out, cache.child(blocks_.size() + kHeadChild));
}

template <class T>
void Model<T>::backward(LayerContext<T> context,
                        const tasks::Sample& sample,
                        const ConstTokens<T>& d_out,
                        Cache<T>& cache) const {
  const Index n = rows_in(sample);
  context.mask = mask(sample, cache);
  context.residual_scores = residual_scores(n, cache);
  if (context.residual_scores != nullptr) {
    const Index size = blocks_.front()->attention().residual_score_count(n) * layers();
    TokenMap<T> gradient = cache.array(kResidualScoresGradient, size, 1);
    gradient.setZero();
    context.residual_scores_gradient = gradient.data();
  }
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> pooled = cache.array(kPooled, pool_->rows_out(n), pool_->width_out());
  TokenMap<T> d_pooled = scope.take(pooled.rows(), pooled.cols());
  head_->backward(
      context, head_input(n, cache), d_out, d_pooled, cache.child(blocks_.size() + kHeadChild));
  head_dropout_.apply(context, d_pooled);
  if (pooler_) {
    const TokenMap<T> activated = cache.array(kPoolerOutput, pooled.rows(), pooled.cols());
    TokenMap<T> d_activated = scope.take(pooled.rows(), pooled.cols());
    d_activated.array() = d_pooled.array() * (T(1) - activated.array().square());
    pooler_->pull_back(context, pooled, d_activated, d_pooled, false);
  }
  TokenMap<T> dY = scope.take(n, width_of(layers()));
  pool_->backward(context, pool_input(n, cache), d_pooled, dY);
  if (norm_) {
    norm_->backward(
        context, tokens(layers(), n, cache), dY, dY, cache.child(blocks_.size() + kNormChild));
  }
  TokenMap<T> dX = scope.take(n, width_of(0));
  TokenMap<T> above = scope.take(n, width_of(0));
  for (Index l = layers() - 1; l >= 0; --l) {
    const auto number = static_cast<std::size_t>(l);
    const ConstTokens<T> d_top = l + 1 == layers() ? ConstTokens<T>(dY) : ConstTokens<T>(above);
    blocks_[number]->backward(context, tokens(l, n, cache), d_top, dX, cache.child(number));
    above = dX;
  }
  dropout_.apply(context, above);
  if (embedding_norm_) {
    embedding_norm_->backward(context,
                              tokens(0, n, cache),
                              above,
                              above,
                              cache.child(blocks_.size() + kEmbeddingNormChild));
  }
  embedding_->backward(context, sequence_of(sample), above);
}

MATAPPROX_INSTANTIATE_LAYER(Model);

}  // namespace matapprox::training
