#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "linear_layer.hpp"
#include "matapprox/attention/options.hpp"
#include "pass.hpp"

namespace matapprox::cuda {

/// Mechanism that the heads of a layer apply to their queries, keys and values.
enum class HeadMechanism {
  kSoftmax,
  kLinformer,
  kLinearTransformer,
  kPerformer,
  kSimpletron,
  kTokenwise
};
using attention::SimpletronScale;

/// A multi-head layer with the structure of the library's MultiHead.
struct MultiHeadShape {
  HeadMechanism kind = HeadMechanism::kSoftmax;
  Index width = 0;  ///< width of a token
  Index heads = 1;
  Index layer = 0;  ///< index of the layer in the model
  bool output_projection = true;
  bool causal = false;           ///< softmax only
  double attention_dropout = 0;  ///< softmax and linformer only
  Index tile = 0;  ///< keys that softmax processes at a time, a multiple of 64; 0: automatic
  Index rank = 0;  ///< number of mixtures of linformer
  bool mixtures_of_heads = false;                  ///< each head has its own E and F
  bool shared_by_layers = false;                   ///< all layers share E and F
  bool tied = false;                               ///< F = E
  Index features = 0;                              ///< number of features of performer
  SimpletronScale scale = SimpletronScale::kNone;  ///< simpletron only

  // Slots of the parameters.
  LinearSlots query;
  LinearSlots key;
  LinearSlots value;
  LinearSlots output;
  std::vector<ParameterSlot> E;  ///< one, or one per head
  std::vector<ParameterSlot> F;
  ParameterSlot omega;

  Index head_width() const { return width / heads; }
  bool has_queries() const { return kind != HeadMechanism::kTokenwise; }
};

/// Sets to[h][row] = from[row][h] + bias[h] for rows x heads pieces of `columns` numbers. Rows of
/// padding are 0. A null bias is 0.
template <class T>
struct SplitHeads {
  const T* from = nullptr;
  const T* bias = nullptr;
  const std::uint8_t* mask = nullptr;
  Index rows = 0;
  Index heads = 1;
  T* to = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index place, Index column) const {
    const Index row = place / heads;
    const Index head = place - row * heads;
    Numbers<T, kWidth> value{};
    if (is_token(mask, row)) {
      value = load_numbers<T, kWidth>(from + (place * columns + column));
      if (bias != nullptr) {
        for (int c = 0; c < kWidth; ++c) value.values[c] += bias[head * columns + column + c];
      }
    }
    store_numbers(value, to + ((head * rows + row) * columns + column));
  }
};

/// The inverse of SplitHeads: to[row][h] = from[h][row]. Rows of padding are 0.
template <class T>
struct MergeHeads {
  const T* from = nullptr;
  const std::uint8_t* mask = nullptr;
  Index rows = 0;
  Index heads = 1;
  T* to = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index place, Index column) const {
    const Index row = place / heads;
    const Index head = place - row * heads;
    Numbers<T, kWidth> value{};
    if (is_token(mask, row))
      value = load_numbers<T, kWidth>(from + ((head * rows + row) * columns + column));
    store_numbers(value, to + (place * columns + column));
  }
};

/// Queries, keys and values, or their gradients: for each head one sample after the other, N x p
/// each. A product for all heads and samples is therefore one batch.
template <class T>
struct HeadBlocks {
  T* query = nullptr;
  T* key = nullptr;
  T* value = nullptr;
};

/// A mechanism, which is applied between the projections. Rows of padding are 0 in queries, keys,
/// values and dH; gradients of padding may have any value.
template <class T, class Queue>
class HeadCore {
 public:
  virtual ~HeadCore() = default;
  virtual void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) = 0;
  virtual void backward(const Pass<T, Queue>& pass,
                        const HeadBlocks<const T>& in,
                        const T* h,
                        const T* dh,
                        const HeadBlocks<T>& d) = 0;
};

/// A batch of products; the matrices of successive products are stride_a, stride_b and stride_c
/// numbers apart.
template <class T>
Gemm<T> in_batch(Gemm<T> gemm, Index batch, Index stride_a, Index stride_b, Index stride_c) {
  gemm.batch = batch;
  gemm.stride_a = stride_a;
  gemm.stride_b = stride_b;
  gemm.stride_c = stride_c;
  return gemm;
}

/// Multi-head attention. Stores four arrays of rows x width numbers, and a fifth if there are
/// several heads.
template <class T, class Queue>
class MultiHeadLayer final : public AttentionLayer<T, Queue> {
 public:
  MultiHeadLayer(const Queue& queue,
                 MultiHeadShape shape,
                 Index rows,
                 std::unique_ptr<HeadCore<T, Queue>> core)
      : shape_(std::move(shape)),
        rows_(rows),
        query_(queue.template array<T>(shape_.has_queries() ? numbers() : 0)),
        key_(queue.template array<T>(shape_.has_queries() ? numbers() : 0)),
        value_(queue.template array<T>(numbers())),
        heads_(queue.template array<T>(numbers())),
        merged_(queue.template array<T>(shape_.heads > 1 ? numbers() : 0)),
        core_(std::move(core)) {}

  const T* forward(const Pass<T, Queue>& pass, const T* x) override {
    if (shape_.has_queries()) {
      project(pass, shape_.query, x, query_.data());
      project(pass, shape_.key, x, key_.data());
    }
    project(pass, shape_.value, x, value_.data());
    core_->forward(pass, blocks(), heads_.data());
    if (shape_.heads > 1) merge(pass, heads_.data(), merged_.data());
    if (!shape_.output_projection) return merged();
    T* y = pass.work->take(kAttentionOut, numbers());
    multiply_by_weight(pass, shape_.output, merged(), rows_, y);
    add_bias(pass, shape_.output, rows_, y);
    return y;
  }

  void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) override {
    T* wide = pass.work->take(kSideBySide, numbers());
    T* dh = pass.work->take(kHeadGradient, numbers());
    const T* d_merged = dy;
    if (shape_.output_projection) {
      linear_backward(pass, shape_.output, merged(), dy, rows_, wide);
      d_merged = wide;
    }
    split(pass, d_merged, nullptr, dh);
    HeadBlocks<T> d;
    if (shape_.has_queries()) {
      d.query = pass.work->take(kQueryGradient, numbers());
      d.key = pass.work->take(kKeyGradient, numbers());
    }
    d.value = pass.work->take(kValueGradient, numbers());
    core_->backward(pass, blocks(), heads_.data(), dh, d);
    const auto pull_back = [&](const LinearSlots& places, const T* gradient, bool add) {
      merge(pass, gradient, wide);
      linear_backward(pass, places, x, wide, rows_, dx, add);
    };
    pull_back(shape_.value, d.value, false);
    if (!shape_.has_queries()) return;
    pull_back(shape_.query, d.query, true);
    pull_back(shape_.key, d.key, true);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));

  Index numbers() const { return rows_ * shape_.width; }
  HeadBlocks<const T> blocks() const { return {query_.data(), key_.data(), value_.data()}; }
  const T* merged() const { return shape_.heads > 1 ? merged_.data() : heads_.data(); }

  void split(const Pass<T, Queue>& pass, const T* from, const T* bias, T* to) const {
    SplitHeads<T> split;
    split.from = from;
    split.bias = bias;
    split.mask = pass.mask;
    split.rows = rows_;
    split.heads = shape_.heads;
    split.to = to;
    split.columns = shape_.head_width();
    for_each_piece<T>(pass.queue(), rows_ * shape_.heads, split.columns, split);
  }
  void merge(const Pass<T, Queue>& pass, const T* from, T* to) const {
    MergeHeads<T> merge;
    merge.from = from;
    merge.mask = pass.mask;
    merge.rows = rows_;
    merge.heads = shape_.heads;
    merge.to = to;
    merge.columns = shape_.head_width();
    for_each_piece<T>(pass.queue(), rows_ * shape_.heads, merge.columns, merge);
  }
  void project(const Pass<T, Queue>& pass, const LinearSlots& places, const T* x, T* to) const {
    T* wide = pass.work->take(kSideBySide, numbers());
    multiply_by_weight(pass, places, x, rows_, wide);
    split(pass, wide, pass.parameters + places.bias.offset, to);
  }

  MultiHeadShape shape_;
  Index rows_;
  Array query_;  ///< for each head, see HeadBlocks
  Array key_;
  Array value_;
  Array heads_;   ///< H, likewise
  Array merged_;  ///< H of all heads side by side, if there are several
  std::unique_ptr<HeadCore<T, Queue>> core_;
};

/// H = V: mixes nothing.
template <class T, class Queue>
class TokenwiseCore final : public HeadCore<T, Queue> {
 public:
  explicit TokenwiseCore(Index numbers) : numbers_(numbers) {}
  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    pass.queue().copy(in.value, numbers_, h);
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& /*in*/,
                const T* /*h*/,
                const T* dh,
                const HeadBlocks<T>& d) override {
    pass.queue().copy(dh, numbers_, d.value);
  }

 private:
  Index numbers_;
};

}  // namespace matapprox::cuda
