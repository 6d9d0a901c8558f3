#pragma once

#include "bilinear.hpp"

namespace matapprox::cuda {

/// y = x times a factor of the sample, a function of 1 / its number of tokens.
template <class T>
struct ScaleByLength {
  const T* x = nullptr;
  const T* shares = nullptr;
  Index samples = 1;
  Index length = 1;
  SimpletronScale scale = SimpletronScale::kNone;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    // A sample without tokens has the factor 1, as one with a single token.
    const T own = shares[row / length % samples];
    const T share = own > T(0) ? own : T(1);
    T factor = T(1);
    if (scale == SimpletronScale::kInverseSqrtLength) factor = sqrt_of(share);
    if (scale == SimpletronScale::kInverseLength) factor = share;
    auto numbers = load_numbers<T, kWidth>(x + (row * columns + column));
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= factor;
    store_numbers(numbers, y + (row * columns + column));
  }
};

/// SimpleTRON: H = Q (K^T V) times a scale that depends on the length. [YKV+21]
template <class T, class Queue>
class SimpletronCore final : public HeadCore<T, Queue> {
 public:
  SimpletronCore(const Queue& queue, const BilinearShape& shape, SimpletronScale scale)
      : shape_(shape),
        scale_(scale),
        scaled_(queue.template array<T>(shape.rows() * shape.values)),
        state_(queue.template array<T>(shape.matrices() * shape.features * shape.values)) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    const Queue& queue = pass.queue();
    rescale(pass, in.value, scaled_.data());
    queue.gemm(bilinear_state<T>(shape_, in.key, scaled_.data(), state_.data()));
    queue.gemm(bilinear_result<T>(shape_, in.query, state_.data(), h));
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* /*h*/,
                const T* dh,
                const HeadBlocks<T>& d) override {
    bilinear_backward(pass.queue(), shape_, in.query, in.key, scaled_.data(), dh, state_.data(), d);
    rescale(pass, d.value, d.value);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  void rescale(const Pass<T, Queue>& pass, const T* x, T* y) const {
    ScaleByLength<T> kernel;
    kernel.x = x;
    kernel.shares = pass.shares;
    kernel.samples = shape_.samples;
    kernel.length = shape_.length;
    kernel.scale = scale_;
    kernel.y = y;
    kernel.columns = shape_.values;
    for_each_piece<T>(pass.queue(), shape_.rows(), shape_.values, kernel);
  }

  BilinearShape shape_;
  SimpletronScale scale_;
  Array scaled_;
  Array state_;
};

}  // namespace matapprox::cuda
