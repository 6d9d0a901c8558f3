#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/row_vector_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "attention/kernels/elementwise.hpp"

#ifndef MATAPPROX_KERNELS_ROW_VECTOR_FUNCTIONS
#define MATAPPROX_KERNELS_ROW_VECTOR_FUNCTIONS
namespace matapprox::kernels::row_vector {

/// The functions of the header for one instruction set.
template <class T>
struct Functions {
  void (*add_to_rows)(const T* b, T* X, Index rows, Index columns, Index stride);
  void (*sum_rows)(const T* X, Index rows, Index columns, Index stride, T* sum);
  void (*scale_and_sum_rows)(const T* S, T* X, Index rows, Index columns, T* sum);
};

}  // namespace matapprox::kernels::row_vector
#endif  // MATAPPROX_KERNELS_ROW_VECTOR_FUNCTIONS

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::row_vector::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Full = hn::ScalableTag<T>;
template <class D>
constexpr Index kLanes = hn::MaxLanes(D());

/// Covers the columns from c on: calls function(d, c) for vectors D at column c while they fit,
/// then for at most one vector of half their length, and so on.
template <class D, class Function>
HWY_INLINE void over_columns(D d, Index c, Index columns, const Function& function) {
  for (; c + kLanes<D> <= columns; c += kLanes<D>) function(d, c);
  if constexpr (kLanes < D >> 1) {
    if (c < columns) {
      over_columns(hn::CappedTag<hn::TFromD<D>, kLanes<D> / 2>(), c, columns, function);
    }
  }
}

/// Number of columns below which rows without gaps are processed as one row. The entries of b for a
/// full vector repeat after as many vectors as there are columns.
constexpr Index kNarrow = 32;

template <class T>
void add_to_narrow_rows(const T* b, T* X, Index rows, Index columns) {
  constexpr Index kFull = kLanes<Full<T>>;
  T repeated[kNarrow * kFull];
  const Index period = columns * kFull;
  for (Index j = 0; j < period; j += columns) std::copy_n(b, columns, repeated + j);
  const Index numbers = rows * columns;
  for (Index first = 0; first < numbers; first += period) {
    T* x = X + first;
    over_columns(Full<T>(), 0, std::min(period, numbers - first), [&](auto d, Index c) {
      hn::StoreU(hn::Add(hn::LoadU(d, x + c), hn::LoadU(d, repeated + c)), d, x + c);
    });
  }
}

template <class T>
void add_to_rows(const T* b, T* X, Index rows, Index columns, Index stride) {
  if (stride == columns && columns < kNarrow) return add_to_narrow_rows(b, X, rows, columns);
  for (Index i = 0; i < rows; ++i) {
    T* x = X + i * stride;
    over_columns(Full<T>(), 0, columns, [&](auto d, Index c) {
      hn::StoreU(hn::Add(hn::LoadU(d, x + c), hn::LoadU(d, b + c)), d, x + c);
    });
  }
}

/// Adds all rows to kVectors vectors of the sum, in registers.
template <int kVectors, class D>
HWY_INLINE void sum_strip(
    D d, const hn::TFromD<D>* X, Index rows, Index stride, hn::TFromD<D>* sum) {
  hn::Vec<D> sums[kVectors];
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::LoadU(d, sum + v * kLanes<D>);
  for (Index i = 0; i < rows; ++i, X += stride) {
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::Add(sums[v], hn::LoadU(d, X + v * kLanes<D>));
    }
  }
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, sum + v * kLanes<D>);
}

template <class T>
void sum_rows(const T* X, Index rows, Index columns, Index stride, T* sum) {
  constexpr int kTogether = 4;
  constexpr Index kStrip = kTogether * kLanes<Full<T>>;
  Index c = 0;
  for (; c + kStrip <= columns; c += kStrip) {
    sum_strip<kTogether>(Full<T>(), X + c, rows, stride, sum + c);
  }
  over_columns(Full<T>(), c, columns, [&](auto d, Index at) {
    sum_strip<1>(d, X + at, rows, stride, sum + at);
  });
}

template <class T>
void scale_and_sum_rows(const T* S, T* X, Index rows, Index columns, T* sum) {
  for (Index i = 0; i < rows; ++i) {
    const T* s = S + i * columns;
    T* x = X + i * columns;
    over_columns(Full<T>(), 0, columns, [&](auto d, Index c) {
      const auto scaled = hn::Mul(hn::LoadU(d, x + c), hn::LoadU(d, s + c));
      hn::StoreU(scaled, d, x + c);
      hn::StoreU(hn::Add(hn::LoadU(d, sum + c), scaled), d, sum + c);
    });
  }
}

template <class T>
constexpr Functions<T> kFunctions = {
    .add_to_rows = add_to_rows<T>,
    .sum_rows = sum_rows<T>,
    .scale_and_sum_rows = scale_and_sum_rows<T>,
};

const Functions<double>* double_functions() { return &kFunctions<double>; }
const Functions<float>* float_functions() { return &kFunctions<float>; }

}  // namespace matapprox::kernels::row_vector::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace row_vector {

HWY_EXPORT(double_functions);
HWY_EXPORT(float_functions);

template <class T>
const Functions<T>& functions() {
  if constexpr (sizeof(T) == sizeof(double)) {
    return *HWY_DYNAMIC_DISPATCH(double_functions)();
  } else {
    return *HWY_DYNAMIC_DISPATCH(float_functions)();
  }
}

}  // namespace row_vector

template <class T>
void add_to_rows(const T* b, T* X, Index rows, Index columns, Index stride) {
  row_vector::functions<T>().add_to_rows(b, X, rows, columns, stride);
}

template <class T>
void sum_rows(const T* X, Index rows, Index columns, Index stride, T* sum) {
  row_vector::functions<T>().sum_rows(X, rows, columns, stride, sum);
}

template <class T>
void scale_and_sum_rows(const T* S, T* X, Index rows, Index columns, T* sum) {
  row_vector::functions<T>().scale_and_sum_rows(S, X, rows, columns, sum);
}

template void add_to_rows(const double*, double*, Index, Index, Index);
template void add_to_rows(const float*, float*, Index, Index, Index);
template void sum_rows(const double*, Index, Index, Index, double*);
template void sum_rows(const float*, Index, Index, Index, float*);
template void scale_and_sum_rows(const double*, double*, Index, Index, double*);
template void scale_and_sum_rows(const float*, float*, Index, Index, float*);

}  // namespace matapprox::kernels
#endif  // HWY_ONCE
