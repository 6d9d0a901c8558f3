#pragma once

#include "batch_inputs.hpp"

namespace matapprox::cuda {

/// Forward and backward passes of a model on one batch, all in the memory of the queue.
template <class T, class Queue>
class Network {
 public:
  /// The slots of the parameters are those of the shape.
  Network(const Queue& queue, ModelShape model);

  const ModelShape& model() const { return model_; }
  BatchInputs<T, Queue>& inputs() { return inputs_; }
  /// Sets the seed and the running numbers from which dropout draws, see Pass.
  void set_random(std::uint64_t seed, Index first_sample) {
    seed_ = seed;
    first_sample_ = first_sample;
  }
  /// Losses and wrong answers of the last forward pass, one per sample.
  const double* losses() const { return losses_.data(); }
  const double* wrong() const { return wrong_.data(); }
  const T* outputs() const { return out_.data(); }  ///< samples x outputs

  /// Computes the outputs and losses of the batch.
  void forward(const T* parameters);
  /// Computes the gradient of the mean loss, after a forward pass.
  void backward(const T* parameters, T* gradient);

 private:
  template <class Number>
  using Array = decltype(std::declval<const Queue&>().template array<Number>(0));
  using NetworkPass = Pass<T, Queue>;

  NetworkPass pass(const T* parameters, T* gradient) {
    NetworkPass pass;
    pass.parameters = parameters;
    pass.gradient = gradient;
    pass.mask = inputs_.mask();
    pass.shares = inputs_.shares();
    pass.sequences = model_.sequences();
    pass.length = model_.length;
    pass.seed = seed_;
    pass.numbers = {first_sample_, model_.pairs()};
    pass.scratch = &scratch_;
    pass.work = &work_;
    return pass;
  }
  /// x = dropout(x) if the rate is above 0.
  void drop(const NetworkPass& pass,
            double rate,
            Index number,
            Index length,
            Index rows,
            Index columns,
            T* x) const {
    if (rate <= 0) return;
    DroppedSum<T> sum;
    sum.x = x;
    sum.mask = dropout_mask(pass, rate, number, length, columns);
    sum.y = x;
    sum.columns = columns;
    for_each_piece<T>(*queue_, rows, columns, sum);
  }
  void drop_tokens(const NetworkPass& pass, T* x) const {
    drop(pass,
         model_.options.embedding_dropout,
         attention::kEmbeddingDropout,
         model_.length,
         model_.rows(),
         model_.options.width,
         x);
  }
  void drop_pooled(const NetworkPass& pass, T* x) const {
    NetworkPass own = pass;
    own.numbers.pairs = false;  // rows are samples
    drop(own,
         model_.options.head_dropout,
         attention::kHeadDropout,
         1,
         model_.samples,
         model_.joined(),
         x);
  }
  const T* joined() const { return model_.pairs() ? joined_.data() : pooled_.data(); }
  void embed(const NetworkPass& pass);
  void head(const NetworkPass& pass);
  void evaluate_loss();
  void head_backward(const NetworkPass& pass);
  void embed_backward(const NetworkPass& pass);

  const Queue* queue_;
  ModelShape model_;
  BatchInputs<T, Queue> inputs_;
  Scratch<T, Queue> scratch_;
  WorkArrays<T, Queue> work_;
  std::uint64_t seed_ = 1;
  Index first_sample_ = 0;
  std::vector<BlockLayer<T, Queue>> blocks_;
  std::optional<LayerNormLayer<T, Queue>> embedding_norm_;
  std::optional<LayerNormLayer<T, Queue>> norm_;
  PoolLayer<T, Queue> pool_;
  std::optional<FeedForwardLayer<T, Queue>> head_;  ///< if the head has two layers
  Array<T> position_encoding_;
  Array<T> tokens_;                ///< input of the first block
  std::vector<const T*> entered_;  ///< input of each block, then the output of the last one
  Array<T> normed_;                ///< after the final norm
  Array<T> pooled_;
  Array<T> joined_;     ///< joined vectors of two texts
  Array<T> read_;       ///< input of the head: pooled tokens, after pooler and dropout
  Array<T> activated_;  ///< result of the pooler
  Array<T> d_pooled_;
  Array<T> d_joined_;
  Array<T> d_read_;
  Array<T> out_;
  Array<T> d_out_;
  Array<T> d_tokens_;  ///< gradient of a block's output
  Array<T> d_below_;   ///< gradient of a block's input
  Array<double> losses_;
  Array<double> wrong_;
};

/// Returns the width of the widest tokens.
inline Index widest_tokens(const ModelShape& model) {
  Index widest = model.options.width;
  for (const BlockShape& block : model.blocks) widest = std::max(widest, block.width_out());
  return widest;
}

template <class T, class Queue>
Network<T, Queue>::Network(const Queue& queue, ModelShape model)
    : queue_(&queue),
      model_(std::move(model)),
      inputs_(queue, model_),
      scratch_(queue),
      work_(queue),
      blocks_(make_blocks<T>(queue, model_.blocks, model_.sequences(), model_.length)),
      pool_(queue, model_.options.pool, model_.sequences(), model_.width_out()),
      position_encoding_(
          queue.template array<T>(static_cast<Index>(model_.position_encoding.size()))),
      tokens_(queue.template array<T>(model_.rows() * model_.options.width)),
      normed_(
          queue.template array<T>(model_.final_norm() ? model_.rows() * model_.width_out() : 0)),
      pooled_(queue.template array<T>(model_.sequences() * model_.pooled())),
      joined_(queue.template array<T>(model_.pairs() ? model_.samples * model_.joined() : 0)),
      read_(queue.template array<T>(model_.samples * model_.joined())),
      activated_(
          queue.template array<T>(model_.options.pooler ? model_.samples * model_.joined() : 0)),
      d_pooled_(queue.template array<T>(model_.sequences() * model_.pooled())),
      d_joined_(queue.template array<T>(model_.pairs() ? model_.samples * model_.joined() : 0)),
      d_read_(
          queue.template array<T>(model_.options.pooler ? model_.samples * model_.joined() : 0)),
      out_(queue.template array<T>(model_.samples * model_.outputs)),
      d_out_(queue.template array<T>(model_.samples * model_.outputs)),
      d_tokens_(queue.template array<T>(model_.rows() * widest_tokens(model_))),
      d_below_(queue.template array<T>(model_.rows() * widest_tokens(model_))),
      losses_(queue.template array<double>(model_.samples)),
      wrong_(queue.template array<double>(model_.samples)) {
  const double epsilon = model_.options.block.norm_epsilon;
  if (model_.options.embedding.norm)
    embedding_norm_.emplace(queue, model_.embedding_norm_places, epsilon, model_.rows());
  if (model_.final_norm()) norm_.emplace(queue, model_.norm, epsilon, model_.rows());
  if (model_.head_hidden() > 0)
    head_.emplace(queue, model_.head_hidden_layer, model_.head, model_.samples);
  const std::vector<T> position_encoding(model_.position_encoding.begin(),
                                         model_.position_encoding.end());
  queue.upload(position_encoding.data(), position_encoding_.size(), position_encoding_.data());
}

template <class T, class Queue>
void Network<T, Queue>::forward(const T* parameters) {
  const NetworkPass own = pass(parameters, nullptr);
  embed(own);
  entered_ = {tokens_.data()};
  for (BlockLayer<T, Queue>& block : blocks_)
    entered_.push_back(block.forward(own, entered_.back()));
  const T* last = entered_.back();
  if (norm_) {
    norm_->forward(own, last, normed_.data());
    last = normed_.data();
  }
  pool_.forward(own, last, pooled_.data());
  head(own);
  evaluate_loss();
}

template <class T, class Queue>
void Network<T, Queue>::backward(const T* parameters, T* gradient) {
  const NetworkPass own = pass(parameters, gradient);
  // Layers add to the gradient of parameters that they share.
  queue_->zero(gradient, model_.parameters);
  head_backward(own);
  pool_.backward(own, d_pooled_.data(), d_tokens_.data());
  if (norm_) norm_->backward(own, d_tokens_.data(), d_tokens_.data());
  for (std::size_t b = blocks_.size(); b-- > 0;) {
    blocks_[b].backward(own, entered_[b], d_tokens_.data(), d_below_.data());
    std::swap(d_tokens_, d_below_);
  }
  embed_backward(own);
}

template <class T, class Queue>
void Network<T, Queue>::embed(const NetworkPass& pass) {
  EmbedRows<T> rows;
  if (model_.vocabulary > 0) {
    rows.table = pass.parameters + model_.token.offset;
    rows.tokens = inputs_.tokens();
  } else {
    multiply_by_weight(pass, model_.feature, inputs_.features(), model_.rows(), tokens_.data());
    rows.x = tokens_.data();
    rows.bias = pass.parameters + model_.feature.bias.offset;
  }
  if (model_.options.embedding.cls_token) rows.cls = pass.parameters + model_.cls.offset;
  if (model_.learned_positions()) rows.positions = pass.parameters + model_.position.offset;
  if (position_encoding_.size() > 0) rows.positions = position_encoding_.data();
  if (model_.options.embedding.segments > 0) {
    rows.segment = pass.parameters + model_.segment.offset;
    rows.segments = inputs_.segments();
  }
  rows.length = model_.length;
  rows.mask = pass.mask;
  rows.y = tokens_.data();
  rows.columns = model_.options.width;
  for_each_piece<T>(*queue_, model_.rows(), model_.options.width, rows);
  if (embedding_norm_) embedding_norm_->forward(pass, tokens_.data(), tokens_.data());
  drop_tokens(pass, tokens_.data());
}

template <class T, class Queue>
void Network<T, Queue>::head(const NetworkPass& pass) {
  const Index samples = model_.samples;
  const Index in = model_.joined();
  if (model_.pairs()) {
    for_each_piece<T>(*queue_,
                      samples,
                      model_.pooled(),
                      JoinTexts<T>{pooled_.data(), joined_.data(), model_.pooled()});
  }
  if (model_.options.pooler) {
    multiply_by_weight(pass, model_.pooler_places, joined(), samples, activated_.data());
    for_each_piece<T>(
        *queue_,
        samples,
        in,
        BiasTanh<T>{activated_.data(), pass.parameters + model_.pooler_places.bias.offset, in});
  }
  queue_->copy(model_.options.pooler ? activated_.data() : joined(), samples * in, read_.data());
  drop_pooled(pass, read_.data());
  if (head_) {
    head_->forward(pass, read_.data(), out_.data());
  } else {
    multiply_by_weight(pass, model_.head, read_.data(), samples, out_.data());
  }
  add_bias(pass, model_.head, samples, out_.data());
}

template <class T, class Queue>
void Network<T, Queue>::evaluate_loss() {
  LossOfRows<T> loss;
  loss.kind = model_.loss.kind;
  loss.smoothing = model_.loss.label_smoothing;
  loss.tolerance = model_.tolerance;
  loss.weight = 1 / static_cast<double>(model_.samples);
  loss.rows = model_.samples;
  loss.classes = static_cast<int>(model_.outputs);
  loss.out = out_.data();
  loss.numbers = inputs_.numbers();
  loss.labels = inputs_.labels();
  loss.sets = model_.label_sets;
  loss.d_out = d_out_.data();
  loss.losses = losses_.data();
  loss.wrong = wrong_.data();
  queue_->run(loss);
}

template <class T, class Queue>
void Network<T, Queue>::head_backward(const NetworkPass& pass) {
  const Index samples = model_.samples;
  T* d_joined = model_.pairs() ? d_joined_.data() : d_pooled_.data();
  T* d_read = model_.options.pooler ? d_read_.data() : d_joined;
  if (head_) {
    head_->backward(pass, read_.data(), d_out_.data(), d_read);
  } else {
    linear_backward(pass, model_.head, read_.data(), d_out_.data(), samples, d_read);
  }
  drop_pooled(pass, d_read);
  if (model_.options.pooler) {
    for_each_piece<T>(*queue_,
                      samples,
                      model_.joined(),
                      TanhBackward<T>{activated_.data(), d_read, model_.joined()});
    linear_backward(pass, model_.pooler_places, joined(), d_read, samples, d_joined);
  }
  if (model_.pairs()) {
    for_each_piece<T>(
        *queue_,
        samples,
        model_.pooled(),
        JoinTextsBackward<T>{pooled_.data(), d_joined, d_pooled_.data(), model_.pooled()});
  }
}

template <class T, class Queue>
void Network<T, Queue>::embed_backward(const NetworkPass& pass) {
  const Index rows = model_.rows();
  const Index d = model_.options.width;
  T* d_tokens = d_tokens_.data();
  drop_tokens(pass, d_tokens);
  if (embedding_norm_) embedding_norm_->backward(pass, d_tokens, d_tokens);
  if (pass.mask != nullptr) {
    AddToTokens<T> clear;
    clear.x = d_tokens;
    clear.mask = pass.mask;
    clear.y = d_tokens;
    clear.columns = d;
    for_each_piece<T>(*queue_, rows, d, clear);
  }
  if (model_.learned_positions()) {
    column_sums(scratch_,
                d_tokens,
                nullptr,
                1,
                model_.sequences(),
                model_.length * d,
                pass.gradient + model_.position.offset);
  }
  if (model_.options.embedding.cls_token) {
    T* first = work_.take(kPooledTokens, model_.sequences() * d);
    for_each_piece<T>(*queue_,
                      model_.sequences(),
                      d,
                      TakeRows<T>{d_tokens, nullptr, nullptr, model_.length, first, d, d});
    column_sums(
        scratch_, first, nullptr, 1, model_.sequences(), d, pass.gradient + model_.cls.offset);
  }
  if (model_.options.embedding.segments > 0) {
    inputs_.segment_order().gradient(scratch_, d_tokens, d, pass.gradient + model_.segment.offset);
  }
  if (model_.vocabulary > 0) {
    inputs_.order().gradient(scratch_, d_tokens, d, pass.gradient + model_.token.offset);
    return;
  }
  // The features of a cls_token's row are 0.
  tall_product(scratch_,
               product_tn(model_.features,
                          d,
                          rows,
                          inputs_.features(),
                          model_.features,
                          d_tokens,
                          d,
                          pass.gradient + model_.feature.weight.offset,
                          d));
  column_sums(scratch_,
              d_tokens,
              inputs_.read_mask(),
              1,
              rows,
              d,
              pass.gradient + model_.feature.bias.offset);
}

}  // namespace matapprox::cuda
