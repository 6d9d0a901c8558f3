#include "matapprox/attention/training/model.hpp"

#include <algorithm>
#include <cmath>

#include "attention/kernels/bilinear.hpp"
#include "attention/kernels/instantiate.hpp"
#include "attention/layers/constants.hpp"
#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::training {

using attention::ConstTokens;
using attention::Workspace;

namespace {

// Arrays of a model's cache: pooled tokens; normed tokens; residual scores and their gradient;
// pooled tokens after tanh, and after dropout; both texts of a pair joined; from kTokens on, the
// input of each block. Children: the blocks from 0 on, then the layers around them.
constexpr Index kPooled = 0;
constexpr Index kNormed = 1;
constexpr Index kResidualScores = 2;
constexpr Index kResidualScoresGradient = 3;
constexpr Index kPoolerOutput = 4;
constexpr Index kHeadInput = 5;
constexpr Index kJoined = 6;
constexpr Index kTokens = 7;
constexpr Index kNormChild = 0;
constexpr Index kHeadChild = 1;
constexpr Index kEmbeddingNormChild = 2;
constexpr Index kTextChild = 3;  ///< and the next one: a model's cache for each of two texts

constexpr Index kMaxLayers = 1024;

/// Number of tokens that the blocks process in addition to those of the sample.
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
  v.visit("attention", attention, "attention mechanism; `attention list` shows all");
  v.visit("width", width, "width d of a token");
  v.visit("heads", heads, "number of heads per attention layer");
  v.visit("layers", layers, "number of blocks");
  v.visit("causal", causal, "each token attends only to itself and to earlier tokens");
  v.visit("attention_dropout",
          attention_dropout,
          "dropout rate of the attention probabilities, if the mechanism forms them");
  block.visit(v);
  v.visit("final_norm", final_norm, "layer norm after the last pre_norm block");
  embedding.visit(v);
  v.visit("embedding_dropout", embedding_dropout, "dropout rate after the embedding");
  v.visit_enum(
      "pool", pool, "input of the head: all tokens, the first token, the mean or the maximum");
  v.visit("pair_separator",
          pair_separator,
          "id of the token between two texts that pass through the model separately; -1: one text");
  v.visit_enum("head", head, "output layer: linear map, or Linear - GELU - Linear");
  v.visit("head_hidden", head_hidden, "hidden width of an mlp head; 0: the width of its input");
  v.visit("pooler", pooler, "add a linear map and tanh between pool and head (BERT)");
  v.visit("head_dropout", head_dropout, "dropout rate before the head");
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
      dropout_(description_.options.embedding_dropout, attention::kEmbeddingDropout),
      head_dropout_(description_.options.head_dropout, attention::kHeadDropout) {
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
  require(
      options.pair_separator >= -1 && options.pair_separator < std::max<Index>(task.vocabulary, 0),
      "model: pair_separator {} is outside -1..{}",
      options.pair_separator,
      std::max<Index>(task.vocabulary, 0) - 1);
  require(!reads_pairs() || (pool != attention::Pool::kNone && pool != attention::Pool::kFlatten),
          "model: pair_separator is for pools of any length with one answer, not {}",
          enum_name(pool));
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
  const Index in = joined_width();
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
struct Model<T>::Text {
  attention::Sequence sequence;
  attention::Mask mask;
  bool empty() const { return sequence.tokens.empty() && sequence.features.empty(); }
};

/// Returns the texts of a sample. The second one is empty if the model reads no pairs.
template <class T>
std::array<typename Model<T>::Text, 2> Model<T>::texts(const tasks::Sample& sample) const {
  const Text whole{{sample.tokens, sample.features}, sample.mask};
  if (!reads_pairs()) return {whole, Text{}};
  embedding_->check(whole.sequence, whole.mask);
  const std::size_t count = sample.tokens.size();
  const auto is_separator = [&](std::size_t i) {
    return sample.tokens[i] == description_.options.pair_separator &&
           attention::is_token(sample.mask, static_cast<Index>(i));
  };
  std::size_t first = 0;
  while (first < count && !is_separator(first)) ++first;
  if (first == count) {
    require(attention::count_tokens(sample.mask, static_cast<Index>(count)) == 0,
            "model: a sample has no token {} (pair_separator) between two texts",
            description_.options.pair_separator);
    return {Text{}, Text{}};
  }
  const auto part = [&](std::size_t begin, std::size_t end) {
    Text text;
    text.sequence.tokens = whole.sequence.tokens.subspan(begin, end - begin);
    if (!whole.mask.empty()) text.mask = whole.mask.subspan(begin, end - begin);
    return text;
  };
  return {part(0, first), part(first + 1, count)};
}

template <class T>
Index Model<T>::rows_in(const Text& text) const {
  return embedding_->check(text.sequence, text.mask);
}

template <class T>
Index Model<T>::rows_in(const tasks::Sample& sample) const {
  require(!reads_pairs(), "model: a sample is two texts, which pass through the layers separately");
  return rows_in(texts(sample).front());
}

template <class T>
Index Model<T>::rows_out(const tasks::Sample& sample) const {
  return reads_pairs() ? 1 : pool_->rows_out(rows_in(sample));
}

template <class T>
attention::Mask Model<T>::mask(const Text& text, Cache<T>& cache) const {
  if (text.mask.empty() || added_tokens(description_) == 0) return text.mask;
  const auto mask = cache.bytes(static_cast<Index>(text.mask.size()) + 1);
  mask.front() = 1;
  std::copy(text.mask.begin(), text.mask.end(), mask.begin() + 1);
  return mask;
}

template <class T>
attention::Mask Model<T>::mask(const tasks::Sample& sample, Cache<T>& cache) const {
  return mask(texts(sample).front(), cache);
}

template <class T>
Index Model<T>::width_of(Index layer) const {
  return layer < layers() ? description_.options.width : blocks_.back()->width_out();
}

template <class T>
TokenMap<T> Model<T>::tokens(Index layer, Index length, Cache<T>& cache) const {
  return cache.array(kTokens + layer, length, width_of(layer));
}

template <class T>
TokenMap<T> Model<T>::pool_input(Index length, Cache<T>& cache) const {
  return norm_ ? cache.array(kNormed, length, width_of(layers())) : tokens(layers(), length, cache);
}

template <class T>
TokenMap<T> Model<T>::joined(Index rows, Cache<T>& cache) const {
  return cache.array(reads_pairs() ? kJoined : kPooled, rows, joined_width());
}

template <class T>
TokenMap<T> Model<T>::head_input(Index rows, Cache<T>& cache) const {
  // The backward pass needs joined texts without dropout, so the input of the head is another
  // array.
  const bool apart = pooler_ != nullptr || reads_pairs();
  return apart ? cache.array(kHeadInput, rows, joined_width()) : joined(rows, cache);
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
  // A norm stores its result; a feed-forward layer its input, hidden numbers and their slopes.
  double block = bare ? 0 : tokens * (pre ? 2 : 1);
  if (!bare && hidden > 0) block += tokens * (2 + 2 * hidden);
  double sum = 0;
  for (Index l = 0; l < layers(); ++l) {
    const auto own = static_cast<double>(attention(l).cost(length).stored);
    // The numbers of all layers exist between passes, the gradients of one layer in the backward
    // pass.
    sum += block + own + tokens;
    if (l == 0) sum += own;
  }
  // Result of the embedding, and gradients of tokens in the backward pass: three of the model, two
  // of a block, one of the embedding.
  sum += 7 * tokens + (norm_ ? 2 * tokens : 0) + (embedding_norm_ ? tokens : 0);
  const double pooled =
      static_cast<double>(pool_->rows_out(length)) * static_cast<double>(joined_width());
  double of_head = reads_pairs() ? 3 : 2;
  if (pooler_) of_head = 5;
  return sum + of_head * pooled +
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
  return attention::Block<T>::attention_cache(cache.child(layer));
}

template <class T>
TokenMap<T> Model<T>::encode(LayerContext<T> context, const Text& text, Cache<T>& cache) const {
  if (text.empty() && reads_pairs()) {
    TokenMap<T> nothing = cache.array(kPooled, 1, pool_->width_out());
    nothing.setZero();
    return nothing;
  }
  const Index n = rows_in(text);
  context.mask = mask(text, cache);
  context.residual_scores = residual_scores(n, cache);
  embedding_->forward(context, text.sequence, tokens(0, n, cache));
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
  return pooled;
}

template <class T>
TokenMap<T> Model<T>::encode_pair(Context<T> context,
                                  const tasks::Sample& sample,
                                  Cache<T>& cache) const {
  const auto both = texts(sample);
  const Index width = pool_->width_out();
  LayerContext<T> own = context;
  T auxiliary(0);
  if (context.auxiliary != nullptr) own.auxiliary = &auxiliary;
  const TokenMap<T> u = encode(own, both[0], cache.child(blocks_.size() + kTextChild));
  own.random.sample += attention::kSecondText;
  const TokenMap<T> v = encode(own, both[1], cache.child(blocks_.size() + kTextChild + 1));
  if (context.auxiliary != nullptr) *context.auxiliary += auxiliary / T(2);
  TokenMap<T> all = joined(1, cache);
  all.leftCols(width) = u;
  all.middleCols(width, width) = v;
  all.middleCols(2 * width, width) = (u - v).cwiseAbs();
  all.rightCols(width) = u.cwiseProduct(v);
  return all;
}

template <class T>
void Model<T>::forward(LayerContext<T> context,
                       const tasks::Sample& sample,
                       Out<T> out,
                       Cache<T>& cache) const {
  TokenMap<T> pooled = reads_pairs() ? encode_pair(context, sample, cache)
                                     : encode(context, texts(sample).front(), cache);
  TokenMap<T> read = head_input(pooled.rows(), cache);
  if (pooler_) {
    TokenMap<T> activated = cache.array(kPoolerOutput, pooled.rows(), pooled.cols());
    pooler_->apply(context, pooled, activated);
    activated = activated.unaryExpr([](const T& x) { return std::tanh(x); });
    read = activated;
  } else if (reads_pairs()) {
    read = pooled;
  }
  head_dropout_.apply(context, read);
  head_->forward(context, read, out, cache.child(blocks_.size() + kHeadChild));
}

template <class T>
void Model<T>::encode_backward(LayerContext<T> context,
                               const Text& text,
                               In<T> d_pooled,
                               Cache<T>& cache) const {
  if (text.empty() && reads_pairs()) return;
  const Index n = rows_in(text);
  context.mask = mask(text, cache);
  context.residual_scores = residual_scores(n, cache);
  if (context.residual_scores != nullptr) {
    const Index size = blocks_.front()->attention().residual_score_count(n) * layers();
    TokenMap<T> gradient = cache.array(kResidualScoresGradient, size, 1);
    gradient.setZero();
    context.residual_scores_gradient = gradient.data();
  }
  typename Workspace<T>::Scope scope(*context.workspace);
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
  embedding_->backward(context, text.sequence, above);
}

/// du = d_1 + sign(u - v) o d_3 + v o d_4, dv = d_2 - sign(u - v) o d_3 + u o d_4.
template <class T>
void Model<T>::encode_pair_backward(Context<T> context,
                                    const tasks::Sample& sample,
                                    In<T> d_joined,
                                    Cache<T>& cache) const {
  const auto both = texts(sample);
  const Index width = pool_->width_out();
  const TokenMap<T> all = joined(1, cache);
  const auto u = all.leftCols(width).array();
  const auto v = all.middleCols(width, width).array();
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> along = scope.take(1, width);
  TokenMap<T> d_text = scope.take(1, width);
  along.array() = (u - v).sign() * d_joined.middleCols(2 * width, width).array();
  LayerContext<T> own = context;
  own.auxiliary_weight /= 2;
  d_text.array() =
      d_joined.leftCols(width).array() + along.array() + v * d_joined.rightCols(width).array();
  encode_backward(own, both[0], d_text, cache.child(blocks_.size() + kTextChild));
  own.random.sample += attention::kSecondText;
  d_text.array() = d_joined.middleCols(width, width).array() - along.array() +
                   u * d_joined.rightCols(width).array();
  encode_backward(own, both[1], d_text, cache.child(blocks_.size() + kTextChild + 1));
}

template <class T>
void Model<T>::backward(LayerContext<T> context,
                        const tasks::Sample& sample,
                        In<T> d_out,
                        Cache<T>& cache) const {
  typename Workspace<T>::Scope scope(*context.workspace);
  TokenMap<T> pooled = joined(rows_out(sample), cache);
  TokenMap<T> d_pooled = scope.take(pooled.rows(), pooled.cols());
  head_->backward(context,
                  head_input(pooled.rows(), cache),
                  d_out,
                  d_pooled,
                  cache.child(blocks_.size() + kHeadChild));
  head_dropout_.apply(context, d_pooled);
  if (pooler_) {
    const TokenMap<T> activated = cache.array(kPoolerOutput, pooled.rows(), pooled.cols());
    TokenMap<T> d_activated = scope.take(pooled.rows(), pooled.cols());
    d_activated.array() = d_pooled.array() * (T(1) - activated.array().square());
    pooler_->pull_back(context, pooled, d_activated, d_pooled, false);
  }
  if (reads_pairs()) {
    encode_pair_backward(context, sample, d_pooled, cache);
  } else {
    encode_backward(context, texts(sample).front(), d_pooled, cache);
  }
}

MATAPPROX_INSTANTIATE_LAYER(Model);

}  // namespace matapprox::training
