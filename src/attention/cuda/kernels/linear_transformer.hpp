#pragma once

#include "feature_attention.hpp"

namespace matapprox::cuda {

/// f = phi(x) = elu(x) + 1: x + 1 for x > 0, else exp(x).
template <class T>
struct EluFeatures {
  const T* x = nullptr;
  T* f = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    auto numbers = load_numbers<T, kWidth>(x + (row * columns + column));
    for (T& v : numbers.values) v = v > T(0) ? v + T(1) : exp_of(v);
    store_numbers(numbers, f + (row * columns + column));
  }
};

/// d = d o phi'(x), which is 1 for x > 0, else phi(x).
template <class T>
struct EluFeaturesBackward {
  const T* x = nullptr;
  const T* f = nullptr;
  T* d = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto own = load_numbers<T, kWidth>(x + at);
    const auto feature = load_numbers<T, kWidth>(f + at);
    auto numbers = load_numbers<T, kWidth>(d + at);
    for (int c = 0; c < kWidth; ++c) {
      if (!(own.values[c] > T(0))) numbers.values[c] *= feature.values[c];
    }
    store_numbers(numbers, d + at);
  }
};

/// Features elu(x) + 1. [KVPF20]
template <class T, class Queue>
class LinearTransformerCore final : public HeadCore<T, Queue> {
 public:
  LinearTransformerCore(const Queue& queue, const BilinearShape& shape)
      : shape_(shape),
        query_(queue.template array<T>(shape.rows() * shape.width)),
        key_(queue.template array<T>(shape.rows() * shape.width)),
        attention_(queue, shape) {}

  void forward(const Pass<T, Queue>& pass, const HeadBlocks<const T>& in, T* h) override {
    features(pass, in.query, query_.data());
    features(pass, in.key, key_.data());
    attention_.forward(pass, query_.data(), key_.data(), in.value, h);
  }
  void backward(const Pass<T, Queue>& pass,
                const HeadBlocks<const T>& in,
                const T* h,
                const T* dh,
                const HeadBlocks<T>& d) override {
    attention_.backward(pass, query_.data(), key_.data(), h, dh, d.query, d.key, d.value);
    features_backward(pass, in.query, query_.data(), d.query);
    features_backward(pass, in.key, key_.data(), d.key);
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  void features(const Pass<T, Queue>& pass, const T* x, T* f) const {
    for_each_piece<T>(
        pass.queue(), shape_.rows(), shape_.width, EluFeatures<T>{x, f, shape_.width});
  }
  void features_backward(const Pass<T, Queue>& pass, const T* x, const T* f, T* d) const {
    for_each_piece<T>(
        pass.queue(), shape_.rows(), shape_.width, EluFeaturesBackward<T>{x, f, d, shape_.width});
  }

  BilinearShape shape_;
  Array query_;  ///< features
  Array key_;
  FeatureAttention<T, Queue> attention_;
};

}  // namespace matapprox::cuda
