#pragma once

#include "softmax_tiles.hpp"

namespace matapprox::cuda {

// Y = Q (K^T U), what the mechanisms of linear cost come down to. Q is N x D, K and U are N x D and
// N x u, for each head and sample.

struct BilinearShape {
  Index samples = 0;
  Index heads = 1;
  Index length = 0;
  Index width = 0;     ///< p, of queries, keys and values
  Index features = 0;  ///< D
  Index values = 0;    ///< u

  Index matrices() const { return heads * samples; }
  Index rows() const { return matrices() * length; }
};

/// S = K^T U (D x u).
template <class T>
Gemm<T> bilinear_state(const BilinearShape& shape, const T* k, const T* u, T* s) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_tn(D, v, n, k, D, u, v, s, v), shape.matrices(), n * D, n * v, D * v);
}
/// Y = Q S.
template <class T>
Gemm<T> bilinear_result(const BilinearShape& shape, const T* q, const T* s, T* y) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product(n, v, D, q, D, s, v, y, v), shape.matrices(), n * D, D * v, n * v);
}
/// X = Y S^T, N x D.
template <class T>
Gemm<T> bilinear_transposed(const BilinearShape& shape, const T* y, const T* s, T* x) {
  const Index D = shape.features;
  const Index v = shape.values;
  const Index n = shape.length;
  return in_batch(product_nt(n, D, v, y, v, s, v, x, D), shape.matrices(), n * v, D * v, n * D);
}

/// Sets dQ, dK and dU from dY; S is that of the forward pass, and that of the backward pass after
/// it.
template <class T, class Queue>
void bilinear_backward(const Queue& queue,
                       const BilinearShape& shape,
                       const T* q,
                       const T* k,
                       const T* u,
                       const T* dy,
                       T* s,
                       const HeadBlocks<T>& d) {
  queue.gemm(bilinear_transposed(shape, dy, s, d.query));
  queue.gemm(bilinear_state(shape, q, dy, s));
  queue.gemm(bilinear_transposed(shape, u, s, d.key));
  queue.gemm(bilinear_result(shape, k, s, d.value));
}

/// y = x times a number of the sample that follows from 1 / tokens.
template <class T>
struct ScaleByLength {
  const T* x = nullptr;
  const T* shares = nullptr;
  Index samples = 1;
  Index length = 1;
  LengthScale scale = LengthScale::kNone;
  T* y = nullptr;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    // Without tokens 1, as with one.
    const T own = shares[row / length % samples];
    const T share = own > T(0) ? own : T(1);
    T factor = T(1);
    if (scale == LengthScale::kInverseSqrtLength) factor = sqrt_of(share);
    if (scale == LengthScale::kInverseLength) factor = share;
    auto numbers = load_numbers<T, kWidth>(x + (row * columns + column));
    for (int c = 0; c < kWidth; ++c) numbers.values[c] *= factor;
    store_numbers(numbers, y + (row * columns + column));
  }
};

/// SimpleTRON: H = Q (K^T V) times a scale of the length. [YKV+21]
template <class T, class Queue>
class SimpletronCore final : public HeadCore<T, Queue> {
 public:
  SimpletronCore(const Queue& queue, const BilinearShape& shape, LengthScale scale)
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
  LengthScale scale_;
  Array scaled_;
  Array state_;
};

/// f = phi(x) = elu(x) + 1: x + 1 above 0, else exp(x).
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

/// d = d o phi', which is 1 above 0, else phi itself.
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

/// A row of values and, after them, 1; 0 in rows of padding.
template <class T>
struct AppendOne {
  static constexpr int kThreads = 256;
  const T* x = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 0;  ///< of the mask: rows count on from 0 in each head
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< of x

  Index blocks() const { return ceil_div(rows * (columns + 1), kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * (columns + 1)) return;
    const Index row = at / (columns + 1);
    const Index column = at - row * (columns + 1);
    const bool token = is_token(mask, row % token_rows);
    const T value = column < columns ? x[row * columns + column] : T(1);
    y[at] = token ? value : T(0);
  }
};

/// h = y / sum, where the sum is the last number of y (and 1e-6), kept apart.
template <class T>
struct DivideBySum {
  static constexpr int kThreads = 256;
  static constexpr T kMinSum = T(1e-6);
  const T* y = nullptr;
  T* sums = nullptr;
  T* h = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< of h

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * columns) return;
    const Index row = at / columns;
    const Index column = at - row * columns;
    const T* own = y + row * (columns + 1);
    const T sum = own[columns] + kMinSum;
    if (column == 0) sums[row] = sum;
    h[at] = own[column] / sum;
  }
};

/// dy = dh / s and, after it, -<dh, h> / s.
template <class T>
struct DivideBySumBackward {
  static constexpr int kThreads = 256;
  const T* dh = nullptr;
  const T* dots = nullptr;
  const T* sums = nullptr;
  T* dy = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows * (columns + 1), kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at >= rows * (columns + 1)) return;
    const Index row = at / (columns + 1);
    const Index column = at - row * (columns + 1);
    dy[at] = (column < columns ? dh[row * columns + column] : -dots[row]) / sums[row];
  }
};

/// x (rows x columns) = the first `columns` numbers of each row of y, which has one more.
template <class T>
struct DropLast {
  static constexpr int kThreads = 256;
  const T* y = nullptr;
  T* x = nullptr;
  Index rows = 0;
  Index columns = 0;

  Index blocks() const { return ceil_div(rows * columns, kThreads); }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index at = place.block * kThreads + place.thread;
    if (at < rows * columns) x[at] = y[at + at / columns];
  }
};

/// H_i = sum_j (f_i . g_j) v_j / (sum_j f_i . g_j + 1e-6) with features f and g of queries and
/// keys: [H o s, s] = F (G^T [V, 1]).
template <class T, class Queue>
class FeatureAttention {
 public:
  /// shape.values is one more than the width.
  FeatureAttention(const Queue& queue, const BilinearShape& shape)
      : shape_(shape),
        values_(queue.template array<T>(shape.rows() * shape.values)),
        state_(queue.template array<T>(shape.matrices() * shape.features * shape.values)),
        sums_(queue.template array<T>(shape.rows())) {}

  void forward(const Pass<T, Queue>& pass, const T* f, const T* g, const T* v, T* h) {
    const Queue& queue = pass.queue();
    const Index rows = shape_.rows();
    queue.run(AppendOne<T>{v, pass.mask, pass.rows(), values_.data(), rows, shape_.width});
    T* y = pass.work->take(kFeatureRows, rows * shape_.values);
    queue.gemm(bilinear_state<T>(shape_, g, values_.data(), state_.data()));
    queue.gemm(bilinear_result<T>(shape_, f, state_.data(), y));
    queue.run(DivideBySum<T>{y, sums_.data(), h, rows, shape_.width});
  }
  /// Sets df and dg, and dV.
  void backward(const Pass<T, Queue>& pass,
                const T* f,
                const T* g,
                const T* h,
                const T* dh,
                T* df,
                T* dg,
                T* dv) {
    const Queue& queue = pass.queue();
    const Index rows = shape_.rows();
    T* dots = pass.work->take(kSoftmaxDots, rows);
    queue.run(RowDots<T>{dh, h, dots, rows, shape_.width});
    T* dy = pass.work->take(kFeatureRows, rows * shape_.values);
    queue.run(DivideBySumBackward<T>{dh, dots, sums_.data(), dy, rows, shape_.width});
    T* d_values = pass.work->take(kFeatureRowGradient, rows * shape_.values);
    bilinear_backward(
        queue, shape_, f, g, values_.data(), dy, state_.data(), HeadBlocks<T>{df, dg, d_values});
    queue.run(DropLast<T>{d_values, dv, rows, shape_.width});
  }

 private:
  using Array = decltype(std::declval<const Queue&>().template array<T>(0));
  BilinearShape shape_;
  Array values_;  ///< [V, 1]
  Array state_;
  Array sums_;
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
