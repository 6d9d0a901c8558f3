#pragma once

#include "device/cuda/kernels/reductions.hpp"
#include "row_reduction.hpp"

namespace matapprox::cuda {

/// y = softmax over each row of scale x, which may be the same array; scale > 0. A row of -inf
/// becomes 0.
template <class T>
struct SoftmaxRows {
  using Lanes = RowLanes<T>;
  using Shared = typename Lanes::Shared;
  static constexpr int kThreads = Lanes::kThreads;

  const T* x = nullptr;
  T* y = nullptr;
  Index rows = 0;
  Index columns = 0;
  T scale = 1;

  struct Local {
    T part;
    T largest;
    T sum;
  };

  Index blocks() const { return Lanes::blocks(rows); }
  MATAPPROX_HD int steps(Place) const { return 2; }  // the largest number, the sum
  MATAPPROX_HD void begin(Place place, Local& own) const {
    own.part = minus_infinity<T>();
    each(place, [&](Index at) { own.part = x[at] > own.part ? x[at] : own.part; });
  }
  MATAPPROX_HD void fill(Place place, int, Shared& shared, Local& own) const {
    Lanes::give(place, shared, own.part);
  }
  MATAPPROX_HD void use(Place place, int step, Shared& shared, Local& own) const {
    if (step == 1) {
      own.sum = Lanes::sum(place, shared);
      return;
    }
    own.largest = Lanes::largest(place, shared);
    own.part = 0;
    if (own.largest > minus_infinity<T>())
      each(place, [&](Index at) { own.part += exp_of(scale * (x[at] - own.largest)); });
  }
  MATAPPROX_HD void end(Place place, const Local& own) const {
    const bool any = own.largest > minus_infinity<T>();
    each(place,
         [&](Index at) { y[at] = any ? exp_of(scale * (x[at] - own.largest)) / own.sum : T(0); });
  }

 private:
  template <class Function>
  MATAPPROX_HD void each(Place place, const Function& function) const {
    Lanes::each(place, rows, columns, [&](Index row, Index j) { function(row * columns + j); });
  }
};

/// dx = scale y o (dy - <y, dy>) for each row y of a softmax; dx may be dy.
template <class T>
struct SoftmaxRowsGradient {
  using Lanes = RowLanes<T>;
  using Shared = typename Lanes::Shared;
  static constexpr int kThreads = Lanes::kThreads;

  const T* y = nullptr;
  const T* dy = nullptr;
  T* dx = nullptr;
  Index rows = 0;
  Index columns = 0;
  T scale = 1;

  struct Local {
    T mean;
  };

  Index blocks() const { return Lanes::blocks(rows); }
  MATAPPROX_HD int steps(Place) const { return 1; }
  MATAPPROX_HD void begin(Place, Local& own) const { own.mean = 0; }
  MATAPPROX_HD void fill(Place place, int, Shared& shared, Local&) const {
    T part = 0;
    each(place, [&](Index at) { part += y[at] * dy[at]; });
    Lanes::give(place, shared, part);
  }
  MATAPPROX_HD void use(Place place, int, Shared& shared, Local& own) const {
    own.mean = Lanes::sum(place, shared);
  }
  MATAPPROX_HD void end(Place place, const Local& own) const {
    each(place, [&](Index at) { dx[at] = scale * y[at] * (dy[at] - own.mean); });
  }

 private:
  template <class Function>
  MATAPPROX_HD void each(Place place, const Function& function) const {
    Lanes::each(place, rows, columns, [&](Index row, Index j) { function(row * columns + j); });
  }
};

/// y = exp(scale (x - largest)) with the largest number of each column of the row's sample; rows of
/// padding 0. For for_each_piece.
template <class T>
struct ExpOfColumns {
  const T* x = nullptr;
  const T* largest = nullptr;  ///< samples x columns
  const std::uint8_t* mask = nullptr;
  T* y = nullptr;
  Index length = 1;
  Index columns = 0;
  T scale = 1;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    Numbers<T, kWidth> result{};
    if (is_token(mask, row)) {
      const auto v = load_numbers<T, kWidth>(x + at);
      const T* most = largest + (row / length * columns + column);
      for (int c = 0; c < kWidth; ++c) result.values[c] = exp_of(scale * (v.values[c] - most[c]));
    }
    store_numbers(result, y + at);
  }
};

/// y = y / sum of its column in its sample; 0 where that is 0.
template <class T>
struct DivideColumns {
  const T* sums = nullptr;  ///< samples x columns
  T* y = nullptr;
  Index length = 1;
  Index columns = 0;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    auto value = load_numbers<T, kWidth>(y + at);
    const T* sum = sums + (row / length * columns + column);
    for (int c = 0; c < kWidth; ++c) {
      if (sum[c] > T(0)) value.values[c] /= sum[c];
    }
    store_numbers(value, y + at);
  }
};

/// dx = scale y o (dy - mean), the mean that of the column in the row's sample.
template <class T>
struct SoftmaxColumnsGradient {
  const T* y = nullptr;
  const T* dy = nullptr;
  const T* means = nullptr;  ///< samples x columns
  T* dx = nullptr;
  Index length = 1;
  Index columns = 0;
  T scale = 1;

  template <int kWidth>
  MATAPPROX_HD void piece(Index row, Index column) const {
    const Index at = row * columns + column;
    const auto value = load_numbers<T, kWidth>(y + at);
    auto derivative = load_numbers<T, kWidth>(dy + at);
    const T* mean = means + (row / length * columns + column);
    for (int c = 0; c < kWidth; ++c)
      derivative.values[c] = scale * value.values[c] * (derivative.values[c] - mean[c]);
    store_numbers(derivative, dx + at);
  }
};

/// Y = softmax over the tokens of each sample, column by column, of scale X; rows of padding 0.
/// scale > 0; X is samples x length x columns; `columns_scratch` has 1 number a sample and column.
template <class T, class Queue>
void softmax_columns(Scratch<T, Queue>& scratch,
                     const std::uint8_t* mask,
                     Index samples,
                     Index length,
                     Index columns,
                     T scale,
                     const T* x,
                     T* y,
                     T* columns_scratch) {
  const Queue& queue = scratch.queue();
  column_largest(scratch, x, mask, samples, length, columns, columns_scratch);
  for_each_piece<T>(queue,
                    samples * length,
                    columns,
                    ExpOfColumns<T>{x, columns_scratch, mask, y, length, columns, scale});
  column_sums(scratch, y, nullptr, samples, length, columns, columns_scratch);
  for_each_piece<T>(
      queue, samples * length, columns, DivideColumns<T>{columns_scratch, y, length, columns});
}

/// dX of it from Y and dY; dX may be dY.
template <class T, class Queue>
void softmax_columns_backward(Scratch<T, Queue>& scratch,
                              Index samples,
                              Index length,
                              Index columns,
                              T scale,
                              const T* y,
                              const T* dy,
                              T* dx,
                              T* columns_scratch) {
  column_products(scratch, y, dy, samples, length, columns, columns_scratch);
  for_each_piece<T>(scratch.queue(),
                    samples * length,
                    columns,
                    SoftmaxColumnsGradient<T>{y, dy, columns_scratch, dx, length, columns, scale});
}

}  // namespace matapprox::cuda
