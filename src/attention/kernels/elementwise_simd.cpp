#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attention/kernels/elementwise_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "attention/kernels/elementwise.hpp"

#ifndef MATAPPROX_KERNELS_ELEMENTWISE_CONSTANTS
#define MATAPPROX_KERNELS_ELEMENTWISE_CONSTANTS
namespace matapprox::kernels::elementwise {

/// Constants of the formulas in each precision.
template <class T>
struct Constants;

// Coefficients of polynomials begin with the constant term. kExponential is (e^r - 1 - r) / r^2 on
// |r| <= log(2) / 2, interpolated at Chebyshev nodes: the relative error of e^r is 2e-10 (float)
// and 1.5e-17 (double).
//
// The upper tail of the normal distribution is e^(-t^2 / 2) P(t) / Q(t) for t >= 0, where the
// rational function P / Q begins with 1/2 and decays like 1/t. Double: ERFC 5666 of Hart et al.,
// Computer Approximations, 1968, absolute error 1e-16. Float: the same form, fitted to an absolute
// error of 7e-9.
template <>
struct Constants<float> {
  using Bits = std::uint32_t;
  static constexpr int kMantissa = 23;
  static constexpr float kRounder = 12582912.0F + 127.0F;  // 1.5 * 2^23 + the bias of exponents
  static constexpr float kLog2High = 0.693145751953125F;   // log(2) in two parts: a short one ...
  static constexpr float kLog2Low = 1.42860682030941723e-6F;  // ... and the rest
  static constexpr float kUnderflow = -104.0F;
  static constexpr float kNormal = -87.0F;
  static constexpr float kOverflow = 88.7228394F;
  static constexpr float kExponential[] = {0.50000000135387298866F,
                                           0.16666666681704215043F,
                                           0.041666464197405692315F,
                                           0.0083333108446478625642F,
                                           0.0013933730715792082502F,
                                           0.00019891080463998842039F};
  static constexpr float kTailEnd = 13.5F;
  static constexpr float kNumerator[] = {0.5F, 0.318892258F, 0.0964121019F, 0.011915626F};
  static constexpr float kDenominator[] = {
      1.0F, 1.43566848F, 0.838330305F, 0.240808766F, 0.0299055478F};
};

template <>
struct Constants<double> {
  using Bits = std::uint64_t;
  static constexpr int kMantissa = 52;
  static constexpr double kRounder = 6755399441055744.0 + 1023.0;
  static constexpr double kLog2High = 6.93147180369123816490e-01;
  static constexpr double kLog2Low = 1.90821492927058770002e-10;
  static constexpr double kUnderflow = -746.0;
  static constexpr double kNormal = -708.0;
  static constexpr double kOverflow = 709.782712893384;
  static constexpr double kExponential[] = {0.50000000000000010314,
                                            0.1666666666666666746,
                                            0.041666666666623820532,
                                            0.0083333333333300381973,
                                            0.0013888888917367080562,
                                            0.00019841269863171556026,
                                            0.000024801521057868205199,
                                            2.7557268276905696187e-6,
                                            2.7620201591031548792e-7,
                                            2.5100472505694996003e-8};
  static constexpr double kTailEnd = 38.0;
  static constexpr double kNumerator[] = {220.206867912376,
                                          221.213596169931,
                                          112.079291497871,
                                          33.912866078383,
                                          6.37396220353165,
                                          0.700383064443688,
                                          3.52624965998911e-02};
  static constexpr double kDenominator[] = {440.413735824752,
                                            793.826512519948,
                                            637.333633378831,
                                            296.564248779674,
                                            86.7807322029461,
                                            16.064177579207,
                                            1.75566716318264,
                                            8.83883476483184e-02};
};

/// The functions of the header for one instruction set.
template <class T>
struct Functions {
  void (*exp)(const T* x, T* y, Index n);
  void (*gelu)(const T* x, T* y, Index n);
  void (*gelu_with_slope)(const T* x, T* y, T* slope, Index n);
  void (*biased_gelu_with_slope)(const T* b, T* X, T* slope, Index rows, Index columns);
  T (*softmax_row)(const T* x, T* y, Index n);
  void (*softmax_row_backward)(const T* y, const T* dy, T* dx, Index n, bool add);
};

}  // namespace matapprox::kernels::elementwise
#endif  // MATAPPROX_KERNELS_ELEMENTWISE_CONSTANTS

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::elementwise::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Tag = hn::ScalableTag<T>;
template <class T>
using V = hn::Vec<Tag<T>>;
template <class T>
constexpr Index kLanes = hn::MaxLanes(Tag<T>());

template <class T>
HWY_INLINE V<T> all(T value) {
  return hn::Set(Tag<T>(), value);
}

/// c[0] + c[1] t + c[2] t^2 + ...
template <class T, int kCount>
HWY_INLINE V<T> polynomial(V<T> t, const T (&c)[kCount]) {
  V<T> sum = all(c[kCount - 1]);
  for (int k = kCount - 2; k >= 0; --k) sum = hn::MulAdd(sum, t, all(c[k]));
  return sum;
}

/// Returns 2^k from kRounder + k, for k from 1 - bias to bias: the last bits are those of k + bias.
template <class T>
HWY_INLINE V<T> power_of_two(V<T> rounded) {
  const hn::Rebind<typename Constants<T>::Bits, Tag<T>> bits;
  return hn::BitCast(Tag<T>(), hn::ShiftLeft<Constants<T>::kMantissa>(hn::BitCast(bits, rounded)));
}

/// x = k log(2) + r with an integer k and |r| <= log(2) / 2; e^x = 2^k e^r.
template <class T>
struct Reduced {
  V<T> rounded;  // rounder + k
  V<T> k;
  V<T> power;  // e^r
};

template <class T>
HWY_INLINE Reduced<T> reduce(V<T> x) {
  using C = Constants<T>;
  constexpr T kInverse = static_cast<T>(1.44269504088896340736);
  const V<T> rounded = hn::MulAdd(x, all(kInverse), all(C::kRounder));
  const V<T> k = hn::Sub(rounded, all(C::kRounder));
  V<T> r = hn::NegMulAdd(k, all(C::kLog2High), x);
  r = hn::NegMulAdd(k, all(C::kLog2Low), r);
  const V<T> above = hn::MulAdd(polynomial(r, C::kExponential), hn::Mul(r, r), r);
  return {rounded, k, hn::Add(above, all(T{1}))};
}

/// Returns e^x for x <= 0. Subnormal results are replaced by 0.
template <class T>
HWY_INLINE V<T> decay(V<T> x) {
  const Reduced<T> e = reduce<T>(x);
  const V<T> y = hn::Mul(e.power, power_of_two<T>(e.rounded));
  return hn::IfThenZeroElse(hn::Lt(x, all(Constants<T>::kNormal)), y);
}

/// Returns e^x. The factor 2^k is applied in two parts, since it need not be a normal number.
template <class T>
HWY_INLINE V<T> exponential(V<T> x) {
  using C = Constants<T>;
  const Reduced<T> e = reduce<T>(x);
  const V<T> half = hn::MulAdd(e.k, all(T{0.5}), all(C::kRounder));
  const V<T> rest = hn::Add(hn::Sub(e.k, hn::Sub(half, all(C::kRounder))), all(C::kRounder));
  const V<T> y = hn::Mul(hn::Mul(e.power, power_of_two<T>(half)), power_of_two<T>(rest));
  const V<T> above =
      hn::IfThenElse(hn::Gt(x, all(C::kOverflow)), all(std::numeric_limits<T>::infinity()), y);
  return hn::IfThenZeroElse(hn::Lt(x, all(C::kUnderflow)), above);
}

template <class T>
struct Normal {
  V<T> distribution;  // Phi(x)
  V<T> decay;         // e^(-x^2 / 2)
};

template <class T>
HWY_INLINE Normal<T> normal(V<T> x) {
  using C = Constants<T>;
  const V<T> e = decay<T>(hn::Mul(hn::Mul(x, x), all(T{-0.5})));
  const V<T> t = hn::Min(hn::Abs(x), all(C::kTailEnd));
  const V<T> ratio = hn::Div(polynomial(t, C::kNumerator), polynomial(t, C::kDenominator));
  const V<T> tail = hn::Mul(e, ratio);
  const V<T> above = hn::Sub(all(T{1}), tail);
  return {hn::IfThenElse(hn::Lt(x, hn::Zero(Tag<T>())), tail, above), e};
}

/// Returns max(x, -kTailEnd), so that -infinity is not multiplied by a tail of 0.
template <class T>
HWY_INLINE V<T> above_tail(V<T> x) {
  return hn::Max(x, all(-Constants<T>::kTailEnd));
}

/// Returns a vector of x[0..count-1] padded with `fill`, for 0 < count < kLanes.
template <class T>
HWY_INLINE V<T> load_some(const T* x, Index count, T fill) {
  T buffer[kLanes<T>];
  std::fill(std::copy_n(x, count, buffer), buffer + kLanes<T>, fill);
  return hn::LoadU(Tag<T>(), buffer);
}

template <class T>
HWY_INLINE void store_some(V<T> v, T* y, Index count) {
  T buffer[kLanes<T>];
  hn::StoreU(v, Tag<T>(), buffer);
  std::copy_n(buffer, count, y);
}

/// y = f(x); f takes and returns vectors.
template <class T, class Function>
HWY_INLINE void map(const T* x, T* y, Index n, const Function& f) {
  const Tag<T> d;
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) hn::StoreU(f(hn::LoadU(d, x + i)), d, y + i);
  if (i < n) store_some<T>(f(load_some(x + i, n - i, T{0})), y + i, n - i);
}

/// z = f(x, y).
template <class T, class Function>
HWY_INLINE void map(const T* x, const T* y, T* z, Index n, const Function& f) {
  const Tag<T> d;
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    hn::StoreU(f(hn::LoadU(d, x + i), hn::LoadU(d, y + i)), d, z + i);
  }
  if (i == n) return;
  const V<T> u = load_some(x + i, n - i, T{0});
  store_some<T>(f(u, load_some(y + i, n - i, T{0})), z + i, n - i);
}

// Number of partial results of a reduction. Several of them hide the latency of combining.
constexpr Index kPartial = 4;

/// Sets partial[p] = f(partial[p], i) for each full vector, which begins at number i, with p in
/// turn. A last, incomplete vector goes through last(partial[0], i).
template <class T, class Function, class Last>
HWY_INLINE void reduce_vectors(Index n, V<T>* partial, const Function& f, const Last& last) {
  Index i = 0;
  for (; i + kPartial * kLanes<T> <= n; i += kPartial * kLanes<T>) {
    for (Index p = 0; p < kPartial; ++p) partial[p] = f(partial[p], i + p * kLanes<T>);
  }
  for (; i + kLanes<T> <= n; i += kLanes<T>) partial[0] = f(partial[0], i);
  if (i < n) partial[0] = last(partial[0], i);
}

template <class T>
HWY_INLINE T sum_of(const V<T>* partial) {
  const V<T> sum = hn::Add(hn::Add(partial[0], partial[1]), hn::Add(partial[2], partial[3]));
  return hn::GetLane(hn::SumOfLanes(Tag<T>(), sum));
}

template <class T>
T largest(const T* x, Index n) {
  const Tag<T> d;
  constexpr T kMin = -std::numeric_limits<T>::infinity();
  V<T> partial[kPartial] = {all(kMin), all(kMin), all(kMin), all(kMin)};
  reduce_vectors<T>(
      n,
      partial,
      [&](V<T> best, Index i) { return hn::Max(best, hn::LoadU(d, x + i)); },
      [&](V<T> best, Index i) { return hn::Max(best, load_some(x + i, n - i, kMin)); });
  const V<T> best = hn::Max(hn::Max(partial[0], partial[1]), hn::Max(partial[2], partial[3]));
  return hn::GetLane(hn::MaxOfLanes(d, best));
}

/// y = e^(x - shift) for x <= shift; returns the sum.
template <class T>
T shifted_exponentials(const T* x, T shift, T* y, Index n) {
  const Tag<T> d;
  V<T> partial[kPartial] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  reduce_vectors<T>(
      n,
      partial,
      [&](V<T> sum, Index i) {
        const V<T> e = decay<T>(hn::Sub(hn::LoadU(d, x + i), all(shift)));
        hn::StoreU(e, d, y + i);
        return hn::Add(sum, e);
      },
      [&](V<T> sum, Index i) {
        const V<T> from = load_some(x + i, n - i, -std::numeric_limits<T>::infinity());
        const V<T> e = decay<T>(hn::Sub(from, all(shift)));
        store_some<T>(e, y + i, n - i);
        return hn::Add(sum, e);
      });
  return sum_of<T>(partial);
}

template <class T>
T dot(const T* x, const T* y, Index n) {
  const Tag<T> d;
  V<T> partial[kPartial] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  reduce_vectors<T>(
      n,
      partial,
      [&](V<T> sum, Index i) { return hn::MulAdd(hn::LoadU(d, x + i), hn::LoadU(d, y + i), sum); },
      [&](V<T> sum, Index i) {
        const V<T> u = load_some(x + i, n - i, T{0});
        return hn::MulAdd(u, load_some(y + i, n - i, T{0}), sum);
      });
  return sum_of<T>(partial);
}

template <class T>
void exp_array(const T* x, T* y, Index n) {
  map(x, y, n, [](V<T> v) { return exponential<T>(v); });
}

template <class T>
void gelu_array(const T* x, T* y, Index n) {
  map(x, y, n, [](V<T> v) { return hn::Mul(above_tail<T>(v), normal<T>(v).distribution); });
}

/// GELU and its derivative from one exponential.
template <class T>
struct GeluAt {
  V<T> value;
  V<T> slope;
};

template <class T>
HWY_INLINE GeluAt<T> gelu_at(V<T> x) {
  constexpr T kDensity = static_cast<T>(0.398942280401432677940);  // phi(0)
  const Normal<T> at = normal<T>(x);
  const V<T> above = above_tail<T>(x);
  const V<T> inner = hn::Min(above, all(Constants<T>::kTailEnd));
  const V<T> density = hn::Mul(at.decay, all(kDensity));
  return {hn::Mul(above, at.distribution), hn::MulAdd(inner, density, at.distribution)};
}

template <class T>
void gelu_with_slope_array(const T* x, T* y, T* slope, Index n) {
  const Tag<T> d;
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const GeluAt<T> at = gelu_at<T>(hn::LoadU(d, x + i));
    hn::StoreU(at.value, d, y + i);
    hn::StoreU(at.slope, d, slope + i);
  }
  if (i == n) return;
  const GeluAt<T> at = gelu_at<T>(load_some(x + i, n - i, T{0}));
  store_some<T>(at.value, y + i, n - i);
  store_some<T>(at.slope, slope + i, n - i);
}

template <class T>
void biased_gelu_with_slope_rows(const T* b, T* X, T* slope, Index rows, Index columns) {
  const Tag<T> d;
  for (Index i = 0; i < rows; ++i, X += columns, slope += columns) {
    Index j = 0;
    for (; j + kLanes<T> <= columns; j += kLanes<T>) {
      const GeluAt<T> at = gelu_at<T>(hn::Add(hn::LoadU(d, X + j), hn::LoadU(d, b + j)));
      hn::StoreU(at.value, d, X + j);
      hn::StoreU(at.slope, d, slope + j);
    }
    if (j == columns) continue;
    const Index rest = columns - j;
    const V<T> bias = load_some(b + j, rest, T{0});
    const GeluAt<T> at = gelu_at<T>(hn::Add(load_some(X + j, rest, T{0}), bias));
    store_some<T>(at.value, X + j, rest);
    store_some<T>(at.slope, slope + j, rest);
  }
}

template <class T>
T softmax_row_array(const T* x, T* y, Index n) {
  const T most = largest(x, n);
  const bool none = most == -std::numeric_limits<T>::infinity();
  const T sum = shifted_exponentials(x, none ? T{0} : most, y, n);
  const T scale = sum == T{0} ? T{0} : T{1} / sum;
  map(y, y, n, [scale](V<T> v) { return hn::Mul(v, all(scale)); });
  return most + std::log(sum);
}

template <class T>
void softmax_row_backward_array(const T* y, const T* dy, T* dx, Index n, bool add) {
  const V<T> mean = all(dot(y, dy, n));
  const auto step = [mean](V<T> p, V<T> g) { return hn::Mul(p, hn::Sub(g, mean)); };
  if (!add) return map(y, dy, dx, n, step);
  const Tag<T> d;
  Index i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) {
    const V<T> change = step(hn::LoadU(d, y + i), hn::LoadU(d, dy + i));
    hn::StoreU(hn::Add(hn::LoadU(d, dx + i), change), d, dx + i);
  }
  if (i == n) return;
  const V<T> g = load_some(dy + i, n - i, T{0});
  const V<T> change = step(load_some(y + i, n - i, T{0}), g);
  store_some<T>(hn::Add(load_some(dx + i, n - i, T{0}), change), dx + i, n - i);
}

template <class T>
constexpr Functions<T> kFunctions = {
    .exp = exp_array<T>,
    .gelu = gelu_array<T>,
    .gelu_with_slope = gelu_with_slope_array<T>,
    .biased_gelu_with_slope = biased_gelu_with_slope_rows<T>,
    .softmax_row = softmax_row_array<T>,
    .softmax_row_backward = softmax_row_backward_array<T>,
};

const Functions<double>* double_functions() { return &kFunctions<double>; }
const Functions<float>* float_functions() { return &kFunctions<float>; }

}  // namespace matapprox::kernels::elementwise::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels {
namespace elementwise {

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

}  // namespace elementwise

template <class T>
void exp(const T* x, T* y, Index n) {
  elementwise::functions<T>().exp(x, y, n);
}

template <class T>
void gelu(const T* x, T* y, Index n) {
  elementwise::functions<T>().gelu(x, y, n);
}

template <class T>
void gelu_with_slope(const T* x, T* y, T* slope, Index n) {
  elementwise::functions<T>().gelu_with_slope(x, y, slope, n);
}

template <class T>
void biased_gelu_with_slope(const T* b, T* X, T* slope, Index rows, Index columns) {
  elementwise::functions<T>().biased_gelu_with_slope(b, X, slope, rows, columns);
}

template <class T>
T softmax_row(const T* x, T* y, Index n) {
  return elementwise::functions<T>().softmax_row(x, y, n);
}

template <class T>
void softmax_row_backward(const T* y, const T* dy, T* dx, Index n, bool add) {
  elementwise::functions<T>().softmax_row_backward(y, dy, dx, n, add);
}

template void exp(const double*, double*, Index);
template void exp(const float*, float*, Index);
template void gelu(const double*, double*, Index);
template void gelu(const float*, float*, Index);
template void gelu_with_slope(const double*, double*, double*, Index);
template void gelu_with_slope(const float*, float*, float*, Index);
template void biased_gelu_with_slope(const double*, double*, double*, Index, Index);
template void biased_gelu_with_slope(const float*, float*, float*, Index, Index);
template double softmax_row(const double*, double*, Index);
template float softmax_row(const float*, float*, Index);
template void softmax_row_backward(const double*, const double*, double*, Index, bool);
template void softmax_row_backward(const float*, const float*, float*, Index, bool);

}  // namespace matapprox::kernels
#endif  // HWY_ONCE
