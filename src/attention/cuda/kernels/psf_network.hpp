#pragma once

#include "batch_inputs.hpp"

namespace matapprox::cuda {

/// Forward and backward passes of a model on one batch, all in the memory of the queue.
template <class T, class Queue>
class PsfNetwork {
 public:
  /// Places of the parameters are set here.
  PsfNetwork(const Queue& queue, PsfModelShape model);

  const PsfModelShape& model() const { return model_; }
  BatchInputs<T, Queue>& inputs() { return inputs_; }
  /// Of the last forward pass, one a sample.
  const double* losses() const { return losses_.data(); }
  const double* wrong() const { return wrong_.data(); }
  const T* outputs() const { return out_.data(); }  ///< samples x outputs

  /// Outputs and losses of the batch.
  void forward(const T* parameters);
  /// The gradient of the mean loss, after a forward pass.
  void backward(const T* parameters, T* gradient);

 private:
  template <class Number>
  using Array = decltype(std::declval<const Queue&>().template array<Number>(0));

  PoolContext<T> pool_context() const {
    PoolContext<T> context;
    context.pool = model_.pool;
    context.samples = model_.samples;
    context.length = model_.length;
    context.width = model_.width_out();
    context.mask = inputs_.mask();
    context.shares = inputs_.shares();
    return context;
  }
  void embed(const T* parameters);
  void head(const T* parameters);
  void evaluate_loss();
  void head_backward(const T* parameters, T* gradient);
  void embed_backward(T* gradient);

  const Queue* queue_;
  PsfModelShape model_;
  BatchInputs<T, Queue> inputs_;
  Scratch<T, Queue> scratch_;
  std::vector<PsfLayer<T, Queue>> layers_;
  PsfWork<T, Queue> work_;
  Array<T> position_encoding_;
  Array<T> tokens_;                ///< that enter the first layer
  std::vector<const T*> entered_;  ///< what entered each layer, and what left the last one
  Array<T> pooled_;
  Array<T> d_pooled_;
  Array<T> out_;
  Array<T> d_out_;
  Array<T> d_tokens_;  ///< of what leaves a layer
  Array<T> d_below_;   ///< of what enters it
  Array<double> losses_;
  Array<double> wrong_;
};

inline PsfModelShape laid_out(PsfModelShape model) {
  lay_out(model);
  return model;
}

/// Columns of the widest tokens.
inline Index widest_tokens(const PsfModelShape& model) {
  Index widest = model.width;
  for (const PsfLayerShape& layer : model.layers) widest = std::max(widest, layer.value);
  return widest;
}

template <class T, class Queue>
PsfNetwork<T, Queue>::PsfNetwork(const Queue& queue, PsfModelShape model)
    : queue_(&queue),
      model_(laid_out(std::move(model))),
      inputs_(queue, model_),
      scratch_(queue),
      work_(queue, model_.layers, model_.rows()),
      position_encoding_(
          queue.template array<T>(static_cast<Index>(model_.position_encoding.size()))),
      tokens_(queue.template array<T>(model_.rows() * model_.width)),
      pooled_(queue.template array<T>(model_.samples * model_.pooled())),
      d_pooled_(queue.template array<T>(model_.samples * model_.pooled())),
      out_(queue.template array<T>(model_.samples * model_.outputs)),
      d_out_(queue.template array<T>(model_.samples * model_.outputs)),
      d_tokens_(queue.template array<T>(model_.rows() * widest_tokens(model_))),
      d_below_(queue.template array<T>(model_.rows() * widest_tokens(model_))),
      losses_(queue.template array<double>(model_.samples)),
      wrong_(queue.template array<double>(model_.samples)) {
  for (const PsfLayerShape& layer : model_.layers)
    layers_.emplace_back(queue, layer, model_.rows());
  const std::vector<T> position_encoding(model_.position_encoding.begin(),
                                         model_.position_encoding.end());
  queue.upload(position_encoding.data(), position_encoding_.size(), position_encoding_.data());
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::forward(const T* parameters) {
  embed(parameters);
  entered_ = {tokens_.data()};
  for (PsfLayer<T, Queue>& layer : layers_)
    entered_.push_back(layer.forward(parameters, entered_.back(), inputs_.mask()));
  pool_tokens(scratch_, pool_context(), entered_.back(), pooled_.data());
  head(parameters);
  evaluate_loss();
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::backward(const T* parameters, T* gradient) {
  head_backward(parameters, gradient);
  pool_tokens_backward(*queue_, pool_context(), d_pooled_.data(), d_tokens_.data());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    layers_[l].backward(parameters,
                        entered_[l],
                        inputs_.mask(),
                        d_tokens_.data(),
                        d_below_.data(),
                        gradient,
                        work_,
                        scratch_);
    std::swap(d_tokens_, d_below_);
  }
  embed_backward(gradient);
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::embed(const T* parameters) {
  const Index rows = model_.rows();
  const Index d = model_.width;
  const T* positions = nullptr;
  if (model_.learned_positions) positions = parameters + model_.position.offset;
  if (position_encoding_.size() > 0) positions = position_encoding_.data();
  if (model_.vocabulary > 0) {
    for_each_piece<T>(*queue_,
                      rows,
                      d,
                      LookUp<T>{parameters + model_.token.offset,
                                inputs_.tokens(),
                                positions,
                                model_.length,
                                inputs_.mask(),
                                tokens_.data(),
                                d});
    return;
  }
  queue_->gemm(product(rows,
                       d,
                       model_.features,
                       inputs_.features(),
                       model_.features,
                       parameters + model_.feature.weight.offset,
                       d,
                       tokens_.data(),
                       d));
  AddToTokens<T> add;
  add.x = tokens_.data();
  add.bias = parameters + model_.feature.bias.offset;
  add.positions = positions;
  add.length = model_.length;
  add.mask = inputs_.mask();
  add.y = tokens_.data();
  add.columns = d;
  for_each_piece<T>(*queue_, rows, d, add);
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::head(const T* parameters) {
  const Index out = model_.outputs;
  const Index in = model_.pooled();
  tall_product(scratch_,
               product(model_.samples,
                       out,
                       in,
                       pooled_.data(),
                       in,
                       parameters + model_.head.weight.offset,
                       out,
                       out_.data(),
                       out));
  AddToTokens<T> add;
  add.x = out_.data();
  add.bias = parameters + model_.head.bias.offset;
  add.y = out_.data();
  add.columns = out;
  for_each_piece<T>(*queue_, model_.samples, out, add);
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::evaluate_loss() {
  LossOfRows<T> loss;
  loss.kind = model_.loss;
  loss.smoothing = model_.smoothing;
  loss.tolerance = model_.tolerance;
  loss.weight = 1 / static_cast<double>(model_.samples);
  loss.rows = model_.samples;
  loss.classes = static_cast<int>(model_.outputs);
  loss.out = out_.data();
  loss.numbers = inputs_.numbers();
  loss.labels = inputs_.labels();
  loss.d_out = d_out_.data();
  loss.losses = losses_.data();
  loss.wrong = wrong_.data();
  queue_->run(loss);
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::head_backward(const T* parameters, T* gradient) {
  const Index samples = model_.samples;
  const Index out = model_.outputs;
  const Index in = model_.pooled();
  queue_->gemm(product_tn(in,
                          out,
                          samples,
                          pooled_.data(),
                          in,
                          d_out_.data(),
                          out,
                          gradient + model_.head.weight.offset,
                          out));
  column_sums(
      scratch_, d_out_.data(), nullptr, 1, samples, out, gradient + model_.head.bias.offset);
  queue_->gemm(product_nt(samples,
                          in,
                          out,
                          d_out_.data(),
                          out,
                          parameters + model_.head.weight.offset,
                          out,
                          d_pooled_.data(),
                          in));
}

template <class T, class Queue>
void PsfNetwork<T, Queue>::embed_backward(T* gradient) {
  const Index rows = model_.rows();
  const Index d = model_.width;
  const T* d_tokens = d_tokens_.data();
  if (inputs_.mask() != nullptr) {
    AddToTokens<T> clear;
    clear.x = d_tokens_.data();
    clear.mask = inputs_.mask();
    clear.y = d_tokens_.data();
    clear.columns = d;
    for_each_piece<T>(*queue_, rows, d, clear);
  }
  if (model_.learned_positions) {
    column_sums(scratch_,
                d_tokens,
                nullptr,
                1,
                model_.samples,
                model_.length * d,
                gradient + model_.position.offset);
  }
  if (model_.vocabulary > 0) {
    inputs_.order().gradient(scratch_, d_tokens, d, gradient + model_.token.offset);
    return;
  }
  tall_product(scratch_,
               product_tn(model_.features,
                          d,
                          rows,
                          inputs_.features(),
                          model_.features,
                          d_tokens,
                          d,
                          gradient + model_.feature.weight.offset,
                          d));
  column_sums(scratch_, d_tokens, nullptr, 1, rows, d, gradient + model_.feature.bias.offset);
}

}  // namespace matapprox::cuda
