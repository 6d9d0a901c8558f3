#pragma once

#include "softmax_tiles.hpp"

namespace matapprox::cuda {

/// Sets to = to + from.
template <class T>
struct AddTo {
  const T* from = nullptr;
  T* to = nullptr;
  Index size = 0;
  static constexpr int kThreads = 256;

  Index blocks() const { return ceil_div(size, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index i = place.block * kThreads + place.thread;
    if (i < size) to[i] += from[i];
  }
};

/// Sets to[i][m] = from[m][i] for matrices x rows pieces of `columns` numbers: turns a batch of
/// matrices into one matrix, whose row i holds row i of each of them.
template <class T>
struct RowsOfBatch {
  const T* from = nullptr;
  Index matrices = 0;
  Index rows = 0;
  T* to = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index place, Index column) const {
    const Index row = place / matrices;
    const Index matrix = place - row * matrices;
    store_numbers(load_numbers<T, kWidth>(from + ((matrix * rows + row) * columns + column)),
                  to + (place * columns + column));
  }
};

/// Softmax attention whose keys and values are E K and F V, k mixtures of the tokens. All heads
/// share E and F, or each head has its own.
template <class T, class Queue>
class LinformerCore final : public HeadCore<T, Queue> {
 public:
  /// `shape` is the shape of the softmax, with k keys.
  LinformerCore(const Queue& queue, const SoftmaxShape& shape, MultiHeadShape heads)
      : shape_(shape),
        heads_(std::move(heads)),
        keys_(queue.template array<T>(mixed_numbers())),
        values_(queue.template array<T>(mixed_numbers())),
        softmax_(queue, shape) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    mix(pass, heads_.E, in.key, keys_.data());
    mix(pass, values_mixture(), in.value, values_.data());
    softmax_.forward(pass, mixed(in), h);
  }

  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) override {
    const HeadBlocks<T> d_mixed{d.query,
                                pass.work->take(kMixedKeyGradient, mixed_numbers()),
                                pass.work->take(kMixedValueGradient, mixed_numbers())};
    softmax_.backward(pass, mixed(in), h, dh, d_mixed);
    mix_backward(pass, heads_.E, in.key, d_mixed.key, d.key);
    mix_backward(pass, values_mixture(), in.value, d_mixed.value, d.value);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));

  Index mixed_numbers() const { return shape_.matrices() * shape_.keys * shape_.width; }
  const std::vector<ParameterSlot>& values_mixture() const {
    return heads_.tied ? heads_.E : heads_.F;
  }
  HeadBlocks<const T> mixed(const HeadBlocks<const T>& in) const {
    return {in.query, keys_.data(), values_.data()};
  }
  /// Calls function(mixture, index of the first matrix that it applies to) for each mixture.
  template <class Function>
  void for_mixtures(const std::vector<ParameterSlot>& mixtures, const Function& function) const {
    for (std::size_t i = 0; i < mixtures.size(); ++i)
      function(mixtures[i], static_cast<Index>(i) * matrices_of(mixtures));
  }
  Index matrices_of(const std::vector<ParameterSlot>& mixtures) const {
    return shape_.matrices() / static_cast<Index>(mixtures.size());
  }

  /// Y = E X of each head and sample. X is 0 in rows of padding.
  void mix(const Pass<T, Queue>& pass,
           const std::vector<ParameterSlot>& mixtures,
           const T* x,
           T* y) const {
    const Index p = shape_.width;
    const Index n = shape_.queries;
    const Index k = shape_.keys;
    for_mixtures(mixtures, [&](const ParameterSlot& E, Index first) {
      const Gemm<T> gemm = product(
          k, p, n, pass.parameters + E.offset, E.cols, x + first * n * p, p, y + first * k * p, p);
      pass.queue().gemm(in_batch(gemm, matrices_of(mixtures), 0, n * p, k * p));
    });
  }
  /// dX = E^T dY. Adds dY X^T, summed over all heads and samples, to the gradient of E, because
  /// other layers and a tied F may share E.
  void mix_backward(const Pass<T, Queue>& pass,
                    const std::vector<ParameterSlot>& mixtures,
                    const T* x,
                    const T* dy,
                    T* dx) const {
    const Queue& queue = pass.queue();
    const Index p = shape_.width;
    const Index n = shape_.queries;
    const Index k = shape_.keys;
    const Index own = matrices_of(mixtures);
    for_mixtures(mixtures, [&](const ParameterSlot& E, Index first) {
      const Gemm<T> back = product_tn(n,
                                      p,
                                      k,
                                      pass.parameters + E.offset,
                                      E.cols,
                                      dy + first * k * p,
                                      p,
                                      dx + first * n * p,
                                      p);
      queue.gemm(in_batch(back, own, 0, k * p, n * p));
      // One product whose inner dimension spans the whole batch.
      T* outer = pass.work->take(kMixedOuter, own * k * p);
      T* inner = pass.work->take(kMixedInner, own * n * p);
      for_each_piece<T>(queue, own * k, p, RowsOfBatch<T>{dy + first * k * p, own, k, outer, p});
      for_each_piece<T>(queue, own * n, p, RowsOfBatch<T>{x + first * n * p, own, n, inner, p});
      T* sum = pass.work->take(kMixtureGradient, E.size());
      tall_product(*pass.scratch,
                   product_nt(k, n, own * p, outer, own * p, inner, own * p, sum, n));
      queue.run(AddTo<T>{sum, pass.gradient + E.offset, E.size()});
    });
  }

  SoftmaxShape shape_;
  MultiHeadShape heads_;
  Array keys_;    ///< E K
  Array values_;  ///< F V
  TiledSoftmax<T, Queue> softmax_;
};

}  // namespace matapprox::cuda
