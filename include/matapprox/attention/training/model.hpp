#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "matapprox/attention/layers/block.hpp"
#include "matapprox/attention/layers/layers.hpp"
#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/core/options.hpp"

namespace matapprox::training {

using attention::Cache;
using attention::Context;
using attention::In;
using attention::LayerContext;
using attention::Out;
using attention::TokenMap;

/// Returns all model options by name, as text.
NamedOptions named_options(const ModelOptions& options);

/// Complete description of a model, as stored in a saved model.
struct ModelDescription {
  ModelOptions options;
  NamedOptions attention_options;  ///< the mechanism's own options
  tasks::TaskShape task;
  std::uint64_t seed = 1;  ///< seed of untrained buffers
};

/// Embedding - blocks with attention - pool - head: maps a sequence to `outputs` numbers, or to
/// that many per token. The head has one or two Linear layers; `outputs` is the number of classes
/// of the task, or 1 for a number. With embedding.norm, cls_token, segments and a pooler, post_norm
/// blocks of softmax attention and norm_epsilon 1e-12 it is a BERT with a classifier. [DCLT19]
///
/// A sample with a pair_separator is two texts, divided by its first token of that id. Each passes
/// separately through the same embedding, blocks and pool, which gives u and v (0 for a text
/// without tokens); pooler and head read [u, v, |u - v|, u o v]. Auxiliary losses are the mean of
/// both. Parameters are those of a model for one text, except for a head of four times the width.
///
/// Holds no parameter values, so that one object serves all threads (layers.hpp). Parameters:
/// embedding.*, embedding.norm.*, block0.attention.*, block0.norm1.* ..., norm.*, pooler.*, head.*.
template <class T>
class Model {
 public:
  /// Throws InvalidArgument for options that are inconsistent with each other or with the task.
  explicit Model(ModelDescription description);

  const ModelDescription& description() const { return description_; }
  const attention::ParameterList& parameters() const { return parameters_; }
  /// For freezing parameters.
  attention::ParameterList& parameters() { return parameters_; }
  Index outputs() const { return outputs_; }
  /// Number of output rows for a sample: 1, or N.
  Index rows_out(const tasks::Sample& sample) const;
  /// Number of rows of a sample of one text in the blocks: its tokens, plus one with a cls_token.
  Index rows_in(const tasks::Sample& sample) const;
  /// Mask of these rows: that of the sample; with a cls_token in front, a copy in the cache.
  attention::Mask mask(const tasks::Sample& sample, Cache<T>& cache) const;
  Index layers() const { return static_cast<Index>(blocks_.size()); }
  const attention::Attention<T>& attention(Index layer) const;

  /// Sets `out` to the outputs for a sample (rows_out x outputs()). context.mask is not used: the
  /// sample has its own. Throws InvalidArgument for a sample whose length or token ids do not fit.
  void forward(LayerContext<T> context,
               const tasks::Sample& sample,
               Out<T> out,
               Cache<T>& cache) const;
  /// Adds the gradient to context.gradient. Must follow the forward pass of the same sample and
  /// cache.
  void backward(LayerContext<T> context,
                const tasks::Sample& sample,
                In<T> d_out,
                Cache<T>& cache) const;
  /// Input of a layer's attention (N x d) in the forward pass that filled the cache, and the
  /// attention's own cache.
  attention::ConstTokens<T> attention_input(Index layer, Index length, Cache<T>& cache) const;
  Cache<T>& attention_cache(Index layer, Cache<T>& cache) const;
  /// Approximate number of values that one thread holds while training on a sample of `length`
  /// tokens: those that the forward pass stores for the backward pass, and those of the backward
  /// pass itself. Attention layers count with their AttentionCost::stored, one of them twice for
  /// its gradients.
  double training_numbers(Index length) const;
  /// Residual scores of a sample of N tokens, attention layer after attention layer; in the cache
  /// after a forward pass.
  T* residual_scores(Index length, Cache<T>& cache) const;

 private:
  /// Input of the blocks: a sample, or one of its two texts.
  struct Text;
  std::array<Text, 2> texts(const tasks::Sample& sample) const;
  Index rows_in(const Text& text) const;
  attention::Mask mask(const Text& text, Cache<T>& cache) const;
  bool reads_pairs() const { return description_.options.pair_separator >= 0; }
  /// Runs embedding to pool. The result is in the cache.
  TokenMap<T> encode(LayerContext<T> context, const Text& text, Cache<T>& cache) const;
  void encode_backward(LayerContext<T> context,
                       const Text& text,
                       In<T> d_pooled,
                       Cache<T>& cache) const;
  /// Encodes both texts to [u, v, |u - v|, u o v], in the cache.
  TokenMap<T> encode_pair(Context<T> context, const tasks::Sample& sample, Cache<T>& cache) const;
  void encode_pair_backward(Context<T> context,
                            const tasks::Sample& sample,
                            In<T> d_joined,
                            Cache<T>& cache) const;
  /// Input of pooler and head for a sample, `rows` rows: pooled tokens of one text or of two.
  TokenMap<T> joined(Index rows, Cache<T>& cache) const;
  Index joined_width() const { return (reads_pairs() ? 4 : 1) * pool_->width_out(); }
  TokenMap<T> tokens(Index layer, Index length, Cache<T>& cache) const;
  TokenMap<T> pool_input(Index length, Cache<T>& cache) const;
  /// Input of the head: joined(), or the result of the pooler.
  TokenMap<T> head_input(Index rows, Cache<T>& cache) const;
  Index width_of(Index layer) const;  ///< width of tokens that enter a block or leave the last one

  ModelDescription description_;
  attention::ParameterList parameters_;
  Index outputs_ = 1;
  std::unique_ptr<attention::Embedding<T>> embedding_;
  std::vector<std::unique_ptr<attention::Block<T>>> blocks_;
  attention::Dropout<T> dropout_;  ///< after the embedding
  std::unique_ptr<attention::LayerNorm<T>> embedding_norm_;
  std::unique_ptr<attention::LayerNorm<T>> norm_;
  std::unique_ptr<attention::Pooling<T>> pool_;
  std::unique_ptr<attention::Linear<T>> pooler_;
  attention::Dropout<T> head_dropout_;  ///< after the pool
  std::unique_ptr<attention::Layer<T>> head_;
};

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::HeadKind> {
  static constexpr std::array<std::string_view, 2> values{"linear", "mlp"};
};

}  // namespace matapprox
