#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "matapprox/attention/block.hpp"
#include "matapprox/attention/embedding.hpp"
#include "matapprox/attention/pooling.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::training {

enum class HeadKind { kLinear, kMlp };

}  // namespace matapprox::training

namespace matapprox {

template <>
struct EnumNames<training::HeadKind> {
  static constexpr std::array<std::string_view, 2> values{"linear", "mlp"};
};

}  // namespace matapprox

namespace matapprox::training {

struct ModelOptions {
  std::string attention = "psf";  ///< a mechanism's name
  Index width = 32;               ///< d, of a token
  Index heads = 1;
  Index layers = 1;
  bool causal = false;
  double attention_dropout = 0;  ///< of attention probabilities, where they are formed
  attention::BlockOptions block;
  double embedding_dropout = 0;
  bool final_norm = true;  ///< after the last pre_norm block
  attention::EmbeddingOptions embedding;
  attention::Pool pool = attention::Pool::kMean;  ///< of tasks with one answer a sample
  Index pair_separator = -1;                      ///< token between two texts; -1: one text
  HeadKind head = HeadKind::kLinear;              ///< mlp: Linear - GELU - Linear
  Index head_hidden = 0;                          ///< of mlp; 0: the width of its input
  bool pooler = false;                            ///< Linear - tanh between pool and head
  double head_dropout = 0;                        ///< of what the head reads
  void visit(OptionVisitor& v);
};

/// All of them by name, as text.
NamedOptions named_options(const ModelOptions& options);

/// All that a model is made from; what a saved model says of itself.
struct ModelDescription {
  ModelOptions options;
  NamedOptions attention_options;  ///< the mechanism's own
  tasks::TaskShape task;
  std::uint64_t seed = 1;  ///< of buffers that are not trained
};

/// Embedding - blocks with attention - pool - head: a sequence to `outputs` numbers, or to that
/// many for each token. The head is a Linear or two; outputs are the classes of the task, 1 for a
/// number. With embedding_norm, cls_token, segments and a pooler, post_norm blocks of softmax
/// attention and norm_epsilon 1e-12 it is a BERT with a classifier. [DCLT19]
///
/// With a pair_separator a sample is two texts, divided by its first token of that id. Both go
/// through the same embedding, blocks and pool, apart from each other, to u and v (0 for a text
/// without tokens), and what follows reads [u, v, |u - v|, u o v]. Auxiliary losses are the mean of
/// both. Parameters are those of a model of one text but for a head of four times the width.
///
/// Holds no numbers, so that one object serves all threads (layer.hpp). Parameters: embedding.*,
/// embedding.norm.*, block0.attention.*, block0.norm1.* ..., norm.*, pooler.*, head.*.
template <class T>
class Model {
 public:
  /// Throws InvalidArgument for options that do not fit together or the task.
  explicit Model(ModelDescription description);

  const ModelDescription& description() const { return description_; }
  const attention::ParameterList& parameters() const { return parameters_; }
  /// To freeze parameters.
  attention::ParameterList& parameters() { return parameters_; }
  Index outputs() const { return outputs_; }
  /// Rows of the outputs for a sample: 1, or N.
  Index rows_out(const tasks::Sample& sample) const;
  /// N of a sample of one text for the blocks: its tokens, and one more with a cls_token.
  Index rows_in(const tasks::Sample& sample) const;
  /// Which of those are tokens: the sample's mask, with a cls_token in front in the cache.
  attention::Mask mask(const tasks::Sample& sample, attention::Cache<T>& cache) const;
  Index layers() const { return static_cast<Index>(blocks_.size()); }
  const attention::Attention<T>& attention(Index layer) const;

  /// out = the outputs for a sample (rows_out x outputs()). context.mask is not used: the sample
  /// has one. Throws InvalidArgument for a sample that does not fit: its length, its token ids.
  void forward(attention::LayerContext<T> context,
               const tasks::Sample& sample,
               attention::Tokens<T> out,
               attention::Cache<T>& cache) const;
  /// Adds to context.gradient; after the forward pass of the same sample and cache.
  void backward(attention::LayerContext<T> context,
                const tasks::Sample& sample,
                const attention::ConstTokens<T>& d_out,
                attention::Cache<T>& cache) const;
  /// What the attention of a layer was given in the forward pass that filled the cache (N x d), and
  /// its own cache.
  attention::ConstTokens<T> attention_input(Index layer,
                                            Index length,
                                            attention::Cache<T>& cache) const;
  attention::Cache<T>& attention_cache(Index layer, attention::Cache<T>& cache) const;
  /// About how many numbers one thread holds while a sample of `length` tokens is trained on: what
  /// the forward pass leaves for the backward pass, and what that one needs itself. Attention
  /// layers are taken at what they say of themselves (AttentionCost::stored), twice.
  double training_numbers(Index length) const;
  /// Numbers of a sample of N tokens that its attention layers pass on, one after the other; in the
  /// cache after a forward pass.
  T* residual_scores(Index length, attention::Cache<T>& cache) const;

 private:
  /// What goes through the blocks at once: a sample, or one of its two texts.
  struct Text;
  std::array<Text, 2> texts(const tasks::Sample& sample) const;
  Index rows_in(const Text& text) const;
  attention::Mask mask(const Text& text, attention::Cache<T>& cache) const;
  bool reads_pairs() const { return description_.options.pair_separator >= 0; }
  /// Embedding to pool. The result is in the cache.
  attention::TokenMap<T> encode(attention::LayerContext<T> context,
                                const Text& text,
                                attention::Cache<T>& cache) const;
  void encode_backward(attention::LayerContext<T> context,
                       const Text& text,
                       const attention::ConstTokens<T>& d_pooled,
                       attention::Cache<T>& cache) const;
  /// Both texts to [u, v, |u - v|, u o v], in the cache.
  attention::TokenMap<T> encode_pair(const attention::LayerContext<T>& context,
                                     const tasks::Sample& sample,
                                     attention::Cache<T>& cache) const;
  void encode_pair_backward(const attention::LayerContext<T>& context,
                            const tasks::Sample& sample,
                            const attention::ConstTokens<T>& d_joined,
                            attention::Cache<T>& cache) const;
  /// What pooler and head read of a sample, of `rows` rows: pooled tokens, of one text or of two.
  attention::TokenMap<T> joined(Index rows, attention::Cache<T>& cache) const;
  Index joined_width() const { return (reads_pairs() ? 4 : 1) * pool_->width_out(); }
  attention::TokenMap<T> tokens(Index layer, Index length, attention::Cache<T>& cache) const;
  attention::TokenMap<T> pool_input(Index length, attention::Cache<T>& cache) const;
  /// What the head reads: that, or that through the pooler.
  attention::TokenMap<T> head_input(Index rows, attention::Cache<T>& cache) const;
  Index width_of(Index layer) const;  ///< of the tokens that enter a block, or leave the last one

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
