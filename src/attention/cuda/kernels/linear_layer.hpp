#pragma once

#include "device/cuda/kernels/tall_product.hpp"
#include "dropout.hpp"
#include "elementwise.hpp"
#include "pass.hpp"

namespace matapprox::cuda {

/// Y = X W, without the bias.
template <class T, class Queue>
void multiply_by_weight(
    const Pass<T, Queue>& pass, const LinearSlots& places, const T* x, Index rows, T* y) {
  const Index in = places.weight.rows;
  const Index out = places.weight.cols;
  tall_product(*pass.scratch,
               product(rows, out, in, x, in, pass.parameters + places.weight.offset, out, y, out));
}

/// Sets the gradients of weight and bias. Sets dX, or adds to it, unless dX is null.
template <class T, class Queue>
void linear_backward(const Pass<T, Queue>& pass,
                     const LinearSlots& places,
                     const T* x,
                     const T* dy,
                     Index rows,
                     T* dx,
                     bool add = false) {
  const Index in = places.weight.rows;
  const Index out = places.weight.cols;
  tall_product(
      *pass.scratch,
      product_tn(in, out, rows, x, in, dy, out, pass.gradient + places.weight.offset, out));
  column_sums(*pass.scratch, dy, nullptr, 1, rows, out, pass.gradient + places.bias.offset);
  if (dx == nullptr) return;
  Gemm<T> back =
      product_nt(rows, in, out, dy, out, pass.parameters + places.weight.offset, out, dx, in);
  back.beta = add ? T(1) : T(0);
  pass.queue().gemm(back);
}

/// y = y + bias.
template <class T, class Queue>
void add_bias(const Pass<T, Queue>& pass, const LinearSlots& places, Index rows, T* y) {
  AddToTokens<T> add;
  add.x = y;
  add.bias = pass.parameters + places.bias.offset;
  add.y = y;
  add.columns = places.bias.cols;
  for_each_piece<T>(pass.queue(), rows, add.columns, add);
}

/// Linear - GELU - Linear. The caller adds the bias of the second layer. Stores 2 rows x hidden
/// numbers.
template <class T, class Queue>
class FeedForwardLayer {
 public:
  FeedForwardLayer(const Queue& queue,
                   const LinearSlots& hidden,
                   const LinearSlots& output,
                   Index rows)
      : hidden_places_(hidden),
        output_places_(output),
        rows_(rows),
        hidden_(queue.template array<T>(rows * hidden.weight.cols)),
        slope_(queue.template array<T>(rows * hidden.weight.cols)) {}

  const LinearSlots& output() const { return output_places_; }
  void forward(const Pass<T, Queue>& pass, const T* x, T* y) {
    const Index hidden = hidden_places_.weight.cols;
    multiply_by_weight(pass, hidden_places_, x, rows_, hidden_.data());
    for_each_piece<T>(
        pass.queue(),
        rows_,
        hidden,
        BiasGelu<T>{
            hidden_.data(), slope_.data(), pass.parameters + hidden_places_.bias.offset, hidden});
    multiply_by_weight(pass, output_places_, hidden_.data(), rows_, y);
  }
  /// Computes dx from dy, after a forward pass of the same x. dx must not be dy.
  void backward(const Pass<T, Queue>& pass, const T* x, const T* dy, T* dx) {
    const Index hidden = hidden_places_.weight.cols;
    T* d_hidden = pass.work->take(kHiddenSlope, rows_ * hidden);
    linear_backward(pass, output_places_, hidden_.data(), dy, rows_, d_hidden);
    for_each_piece<T>(pass.queue(), rows_, hidden, MultiplyBy<T>{d_hidden, slope_.data(), hidden});
    linear_backward(pass, hidden_places_, x, d_hidden, rows_, dx);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  LinearSlots hidden_places_;
  LinearSlots output_places_;
  Index rows_;
  Array hidden_;  ///< after GELU
  Array slope_;   ///< GELU's derivative
};

}  // namespace matapprox::cuda
