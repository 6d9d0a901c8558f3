#pragma once

#include <optional>
#include <variant>

#include "linear_layer.hpp"
#include "linear_transformer.hpp"
#include "linformer.hpp"
#include "pass.hpp"
#include "performer.hpp"
#include "psf_layer.hpp"
#include "simpletron.hpp"

namespace matapprox::cuda {

using attention::BlockKind;

/// An attention layer with its norms, feed-forward layer and skips, as in the library's Block:
///   post_norm   Z = LN1(X + A(X)),  Y = LN2(Z + F(Z))
///   pre_norm    Z = X + A(LN1(X)),  Y = Z + F(LN2(Z))
///   bare        Y = A(X)
struct BlockShape {
  std::variant<PsfLayerShape, MultiHeadShape> attention;
  attention::BlockOptions options;
  Index number = 0;  ///< index of the block, counted from 0
  Index width = 0;   ///< width of the tokens

  // Slots of the parameters.
  LinearSlots norm1;
  LinearSlots norm2;
  LinearSlots hidden_layer;
  LinearSlots output_layer;

  Index hidden() const { return options.feed_forward * width; }  ///< width in F; 0: no F
  Index width_out() const {
    const auto* psf = std::get_if<PsfLayerShape>(&attention);
    return psf == nullptr ? width : psf->value;
  }
};

template <class T, class Queue>
class PsfAttention final : public AttentionLayer<T, Queue> {
 public:
  PsfAttention(const Queue& queue,
               const PsfLayerShape& shape,
               Index rows,
               std::shared_ptr<PsfWork<T, Queue>> work)
      : layer_(queue, shape, rows), work_(std::move(work)) {}
  const T* forward(const Pass<T, Queue>& pass, const T* x) override {
    return layer_.forward(pass.parameters, x, pass.mask);
  }
  void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) override {
    layer_.backward(pass.parameters, x, pass.mask, dy, dx, pass.gradient, *work_, *pass.scratch);
  }

 private:
  PsfLayer<T, Queue> layer_;
  std::shared_ptr<PsfWork<T, Queue>> work_;
};

inline BilinearShape bilinear_shape(const MultiHeadShape& heads, Index samples, Index length) {
  BilinearShape shape;
  shape.samples = samples;
  shape.heads = heads.heads;
  shape.length = length;
  shape.width = heads.head_width();
  shape.features = heads.head_width();
  shape.values = heads.head_width();
  return shape;
}

inline SoftmaxShape softmax_shape(const MultiHeadShape& heads, Index samples, Index length) {
  SoftmaxShape shape;
  shape.samples = samples;
  shape.heads = heads.heads;
  shape.queries = length;
  shape.keys = heads.kind == HeadMechanism::kLinformer ? heads.rank : length;
  shape.width = heads.head_width();
  shape.causal = heads.causal;
  shape.masked = heads.kind == HeadMechanism::kSoftmax;
  shape.dropout = heads.attention_dropout;
  shape.layer = heads.layer;
  shape.tile = heads.tile;
  return shape;
}

template <class T, class Queue>
std::unique_ptr<HeadCore<T, Queue>> make_head_core(const Queue& queue,
                                                   const MultiHeadShape& heads,
                                                   Index samples,
                                                   Index length) {
  BilinearShape bilinear = bilinear_shape(heads, samples, length);
  switch (heads.kind) {
    case HeadMechanism::kSoftmax:
      return std::make_unique<SoftmaxCore<T, Queue>>(queue, softmax_shape(heads, samples, length));
    case HeadMechanism::kLinformer:
      return std::make_unique<LinformerCore<T, Queue>>(
          queue, softmax_shape(heads, samples, length), heads);
    case HeadMechanism::kLinearTransformer:
      bilinear.values += 1;
      return std::make_unique<LinearTransformerCore<T, Queue>>(queue, bilinear);
    case HeadMechanism::kPerformer:
      bilinear.values += 1;
      bilinear.features = heads.features;
      return std::make_unique<PerformerCore<T, Queue>>(queue, bilinear, heads.omega);
    case HeadMechanism::kSimpletron:
      return std::make_unique<SimpletronCore<T, Queue>>(queue, bilinear, heads.scale);
    case HeadMechanism::kTokenwise:
      break;
  }
  return std::make_unique<TokenwiseCore<T, Queue>>(samples * length * heads.width);
}

/// A block. Stores its result, the input of F and, in a pre-norm block, the input of A.
template <class T, class Queue>
class BlockLayer {
 public:
  BlockLayer(const Queue& queue,
             const BlockShape& shape,
             Index rows,
             std::unique_ptr<AttentionLayer<T, Queue>> attention)
      : shape_(shape),
        rows_(rows),
        attention_(std::move(attention)),
        out_(queue.template array<T>(rows * shape.width_out())),
        attention_input_(queue.template array<T>(
            shape.options.kind == BlockKind::kPreNorm ? rows * shape.width : 0)),
        forward_input_(queue.template array<T>(has_feed_forward() ? rows * shape.width : 0)) {
    if (shape.options.kind == BlockKind::kBare) return;
    norm1_.emplace(queue, shape.norm1, shape.options.norm_epsilon, rows);
    if (!has_feed_forward()) return;
    norm2_.emplace(queue, shape.norm2, shape.options.norm_epsilon, rows);
    feed_forward_.emplace(queue, shape.hidden_layer, shape.output_layer, rows);
  }

  /// Returns the result, rows x width_out. It stays valid until the next forward pass.
  const T* forward(const Pass<T, Queue>& pass, const T* x) {
    switch (shape_.options.kind) {
      case BlockKind::kBare:
        attend(pass, x, nullptr, out_.data());
        break;
      case BlockKind::kPostNorm:
        forward_post(pass, x);
        break;
      case BlockKind::kPreNorm:
        forward_pre(pass, x);
        break;
    }
    if (shape_.options.outer_skip) add(pass, out_.data(), x, out_.data());
    return out_.data();
  }

  /// Computes dX from dY. They must not be the same array.
  void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) {
    switch (shape_.options.kind) {
      case BlockKind::kBare: {
        T* branch = pass.work->take(kBlockBranch, rows_ * shape_.width_out());
        dropped(pass, attention_dropout(), dy, branch);
        attention_->backward(pass, x, branch, dx);
        break;
      }
      case BlockKind::kPostNorm:
        backward_post(pass, x, dy, dx);
        break;
      case BlockKind::kPreNorm:
        backward_pre(pass, dy, dx);
        break;
    }
    if (shape_.options.outer_skip) add(pass, dx, dy, dx);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));

  bool has_feed_forward() const {
    return shape_.options.kind != BlockKind::kBare && shape_.hidden() > 0;
  }
  Index attention_dropout() const { return attention::block_attention_dropout(shape_.number); }
  Index forward_dropout() const { return attention::block_forward_dropout(shape_.number); }

  DroppedSum<T> sum_of(const Pass<T, Queue>& pass, Index dropout, const T* x, T* y) const {
    DroppedSum<T> sum;
    sum.columns = shape_.width_out();
    sum.x = x;
    sum.mask = dropout_mask(pass, shape_.options.dropout, dropout, pass.length, sum.columns);
    sum.y = y;
    return sum;
  }
  void run(const Pass<T, Queue>& pass, const DroppedSum<T>& sum) const {
    for_each_piece<T>(pass.queue(), rows_, sum.columns, sum);
  }
  void dropped(const Pass<T, Queue>& pass, Index dropout, const T* x, T* y) const {
    run(pass, sum_of(pass, dropout, x, y));
  }
  void add(const Pass<T, Queue>& pass, const T* x, const T* other, T* y) const {
    AddToTokens<T> sum;
    sum.x = x;
    sum.other = other;
    sum.y = y;
    sum.columns = shape_.width;
    for_each_piece<T>(pass.queue(), rows_, sum.columns, sum);
  }
  /// y = dropout(A(x)) + outer; with an inner skip, y = dropout(A(x) + x) + outer.
  void attend(const Pass<T, Queue>& pass, const T* x, const T* outer, T* y) {
    DroppedSum<T> sum = sum_of(pass, attention_dropout(), attention_->forward(pass, x), y);
    if (shape_.options.inner_skip) sum.inner = x;
    sum.outer = outer;
    run(pass, sum);
  }
  /// y = dropout(F(x)) + outer.
  void feed(const Pass<T, Queue>& pass, const T* x, const T* outer, T* y) {
    T* branch = pass.work->take(kBlockBranch, rows_ * shape_.width);
    feed_forward_->forward(pass, x, branch);
    DroppedSum<T> sum = sum_of(pass, forward_dropout(), branch, y);
    sum.bias = pass.parameters + shape_.output_layer.bias.offset;
    sum.outer = outer;
    run(pass, sum);
  }
  /// Sets dx, the derivative with respect to A's input, from dy, the derivative with respect to the
  /// result after dropout. `branch` holds the derivative before dropout.
  void attend_backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) {
    T* branch = pass.work->take(kBlockBranch, rows_ * shape_.width);
    dropped(pass, attention_dropout(), dy, branch);
    attention_->backward(pass, x, branch, dx);
    if (shape_.options.inner_skip) add(pass, dx, branch, dx);
  }
  void feed_backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) {
    T* branch = pass.work->take(kBlockBranch, rows_ * shape_.width);
    dropped(pass, forward_dropout(), dy, branch);
    feed_forward_->backward(pass, x, branch, dx);
  }

  void forward_post(const Pass<T, Queue>& pass, const T* x) {
    T* sum = pass.work->take(kBlockSum, rows_ * shape_.width);
    attend(pass, x, x, sum);
    if (!has_feed_forward()) {
      norm1_->forward(pass, sum, out_.data());
      return;
    }
    norm1_->forward(pass, sum, forward_input_.data());
    feed(pass, forward_input_.data(), forward_input_.data(), sum);
    norm2_->forward(pass, sum, out_.data());
  }
  void backward_post(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) {
    T* sum = pass.work->take(kBlockSum, rows_ * shape_.width);
    if (has_feed_forward()) {
      norm2_->backward(pass, dy, sum);
      feed_backward(pass, forward_input_.data(), sum, dx);
      add(pass, sum, dx, sum);
      norm1_->backward(pass, sum, sum);
    } else {
      norm1_->backward(pass, dy, sum);
    }
    attend_backward(pass, x, sum, dx);
    add(pass, dx, sum, dx);
  }

  void forward_pre(const Pass<T, Queue>& pass, const T* x) {
    norm1_->forward(pass, x, attention_input_.data());
    attend(pass, attention_input_.data(), x, out_.data());
    if (!has_feed_forward()) return;
    norm2_->forward(pass, out_.data(), forward_input_.data());
    feed(pass, forward_input_.data(), out_.data(), out_.data());
  }
  void backward_pre(const Pass<T, Queue>& pass, const T* dy, T* dx) {
    const T* sum = dy;
    if (has_feed_forward()) {
      T* own = pass.work->take(kBlockSum, rows_ * shape_.width);
      feed_backward(pass, forward_input_.data(), dy, dx);
      norm2_->backward(pass, dx, dx);
      add(pass, dy, dx, own);
      sum = own;
    }
    attend_backward(pass, attention_input_.data(), sum, dx);
    norm1_->backward(pass, dx, dx);
    add(pass, dx, sum, dx);
  }

  BlockShape shape_;
  Index rows_;
  std::unique_ptr<AttentionLayer<T, Queue>> attention_;
  Array out_;
  Array attention_input_;  ///< input of A in a pre-norm block
  Array forward_input_;    ///< input of F
  std::optional<LayerNormLayer<T, Queue>> norm1_;
  std::optional<LayerNormLayer<T, Queue>> norm2_;
  std::optional<FeedForwardLayer<T, Queue>> feed_forward_;
};

/// Creates all blocks. The PSF-Attn layers share the work arrays of their backward passes.
template <class T, class Queue>
std::vector<BlockLayer<T, Queue>> make_blocks(const Queue& queue,
                                              const std::vector<BlockShape>& shapes,
                                              Index samples,
                                              Index length) {
  const Index rows = samples * length;
  std::vector<PsfLayerShape> psf;
  for (const BlockShape& shape : shapes) {
    if (const auto* own = std::get_if<PsfLayerShape>(&shape.attention)) psf.push_back(*own);
  }
  const auto work = std::make_shared<PsfWork<T, Queue>>(queue, psf, rows);
  std::vector<BlockLayer<T, Queue>> blocks;
  for (const BlockShape& shape : shapes) {
    std::unique_ptr<AttentionLayer<T, Queue>> attention;
    if (const auto* own = std::get_if<PsfLayerShape>(&shape.attention)) {
      attention = std::make_unique<PsfAttention<T, Queue>>(queue, *own, rows, work);
    } else {
      const auto& heads = std::get<MultiHeadShape>(shape.attention);
      attention = std::make_unique<MultiHeadLayer<T, Queue>>(
          queue, heads, rows, make_head_core<T>(queue, heads, samples, length));
    }
    blocks.emplace_back(queue, shape, rows, std::move(attention));
  }
  return blocks;
}

}  // namespace matapprox::cuda
