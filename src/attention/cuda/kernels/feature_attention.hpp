#pragma once

#include "bilinear.hpp"

namespace matapprox::cuda {

/// y = [x, 1]: appends 1 to each row of values. Rows of padding are 0.
template <class T>
struct AppendOne {
  static constexpr int kThreads = 256;
  const T* x = nullptr;
  const std::uint8_t* mask = nullptr;
  Index token_rows = 0;  ///< rows of the mask, which repeats for each head
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< columns of x

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

/// h = y / sum for each row, where the sum is the last number of the row plus 1e-6. The sums are
/// stored in `sums`.
template <class T>
struct DivideBySum {
  static constexpr int kThreads = 256;
  static constexpr T kMinSum = T(attention::kMinSum);
  const T* y = nullptr;
  T* sums = nullptr;
  T* h = nullptr;
  Index rows = 0;
  Index columns = 0;  ///< columns of h

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

/// dy = [dh, -<dh, h>] / s for each row, where s is its sum.
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
  /// Sets df, dg and dv.
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

}  // namespace matapprox::cuda
