#include "operators/kernel_tile.hpp"

#include <algorithm>

#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "operators/kernel_tile.cpp"
// The order matters: code after foreach_target.h is compiled once per instruction set.
// clang-format off
#include <hwy/foreach_target.h>  // IWYU pragma: keep
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace matapprox::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<double>;
using V = hn::Vec<D>;

/// Number of points that the inner loop handles at once: two vectors.
Index group_size() { return 2 * static_cast<Index>(hn::Lanes(D())); }

struct SquaredDifference {
  HWY_INLINE V operator()(V sum, V x, V y) const {
    const V difference = hn::Sub(x, y);
    return hn::MulAdd(difference, difference, sum);
  }
};

struct AbsoluteDifference {
  HWY_INLINE V operator()(V sum, V x, V y) const { return hn::Add(sum, hn::Abs(hn::Sub(x, y))); }
};

struct Product {
  HWY_INLINE V operator()(V sum, V x, V y) const { return hn::MulAdd(x, y, sum); }
};

/// Accumulates one group of points against four columns; the 8 sums stay in registers.
template <class Add>
HWY_INLINE void four_columns(Add add,
                             const double* group,
                             const double* const* columns,
                             Index dimension,
                             double* const* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V a0 = hn::Zero(d), a1 = a0, b0 = a0, b1 = a0, c0 = a0, c1 = a0, e0 = a0, e1 = a0;
  for (Index f = 0; f < dimension; ++f) {
    const V x0 = hn::LoadU(d, group);
    const V x1 = hn::LoadU(d, group + lanes);
    group += 2 * lanes;
    V y = hn::Set(d, columns[0][f]);
    a0 = add(a0, x0, y);
    a1 = add(a1, x1, y);
    y = hn::Set(d, columns[1][f]);
    b0 = add(b0, x0, y);
    b1 = add(b1, x1, y);
    y = hn::Set(d, columns[2][f]);
    c0 = add(c0, x0, y);
    c1 = add(c1, x1, y);
    y = hn::Set(d, columns[3][f]);
    e0 = add(e0, x0, y);
    e1 = add(e1, x1, y);
  }
  hn::StoreU(a0, d, out[0]);
  hn::StoreU(a1, d, out[0] + lanes);
  hn::StoreU(b0, d, out[1]);
  hn::StoreU(b1, d, out[1] + lanes);
  hn::StoreU(c0, d, out[2]);
  hn::StoreU(c1, d, out[2] + lanes);
  hn::StoreU(e0, d, out[3]);
  hn::StoreU(e1, d, out[3] + lanes);
}

/// The sums of column c begin at out + c * stride.
template <class Add>
void accumulate(
    Add add, const PackedPoints& points, const ConstBlock& others, double* out, Index stride) {
  constexpr Index kColumns = 4;
  const Index size = group_size();
  double spill[kColumns][2 * HWY_MAX_BYTES / sizeof(double)];
  for (Index first = 0; first < others.cols(); first += kColumns) {
    const Index width = std::min(kColumns, others.cols() - first);
    const double* columns[kColumns];
    for (Index c = 0; c < kColumns; ++c) {
      columns[c] = others.col(first + std::min(c, width - 1)).data();
    }
    for (Index row = 0; row < points.count; row += size) {
      const Index count = std::min(size, points.count - row);
      const double* group = points.values.data() + row * points.dimension;
      double* targets[kColumns];
      for (Index c = 0; c < kColumns; ++c) {
        const bool fits = c < width && count == size;
        targets[c] = fits ? out + (first + c) * stride + row : spill[c];
      }
      four_columns(add, group, columns, points.dimension, targets);
      for (Index c = 0; c < width; ++c) {
        if (count < size) std::copy_n(spill[c], count, out + (first + c) * stride + row);
      }
    }
  }
}

void accumulate_target(Accumulation accumulation,
                       const PackedPoints& points,
                       const ConstBlock& others,
                       double* out,
                       Index stride) {
  switch (accumulation) {
    case Accumulation::kSquaredDifference:
      return accumulate(SquaredDifference(), points, others, out, stride);
    case Accumulation::kAbsoluteDifference:
      return accumulate(AbsoluteDifference(), points, others, out, stride);
    case Accumulation::kProduct:
      return accumulate(Product(), points, others, out, stride);
  }
}

/// Applies `f` to `count` numbers in place; the last, partial vector is padded to a full one.
template <class Function>
void transform(Function f, double* values, Index count) {
  const D d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(f(d, hn::LoadU(d, values + i)), d, values + i);
  if (i == count) return;
  double rest[HWY_MAX_BYTES / sizeof(double)] = {};
  std::copy(values + i, values + count, rest);
  hn::StoreU(f(d, hn::LoadU(d, rest)), d, rest);
  std::copy_n(rest, count - i, values + i);
}

/// sqrt(scale s), at most 800: exp(-800) is 0 in double precision, and so is 800^2 times it.
HWY_INLINE V matern_distance(D d, V s, double scale) {
  return hn::Min(hn::Sqrt(hn::Mul(s, hn::Set(d, scale))), hn::Set(d, 800.0));
}

HWY_INLINE V power(D d, V base, Index degree) {
  V result = hn::Set(d, 1.0);
  for (; degree > 0; degree /= 2) {
    if (degree % 2 == 1) result = hn::Mul(result, base);
    base = hn::Mul(base, base);
  }
  return result;
}

void transform_column(const TileKernel& kernel, double* values, Index count) {
  const double scale = kernel.scale;
  switch (kernel.function) {
    case KernelFunction::kGaussian:
    case KernelFunction::kLaplacian:
      return transform(
          [scale](D d, V s) { return hn::Exp(d, hn::Mul(s, hn::Set(d, scale))); }, values, count);
    case KernelFunction::kMatern32:
      return transform(
          [scale](D d, V s) {
            const V t = matern_distance(d, s, scale);
            return hn::Mul(hn::Add(hn::Set(d, 1.0), t), hn::Exp(d, hn::Neg(t)));
          },
          values,
          count);
    case KernelFunction::kMatern52:
      return transform(
          [scale](D d, V s) {
            const V t = matern_distance(d, s, scale);
            const V one = hn::Set(d, 1.0);
            const V third = hn::Mul(hn::Mul(t, t), hn::Set(d, 1.0 / 3.0));
            return hn::Mul(hn::Add(hn::Add(one, t), third), hn::Exp(d, hn::Neg(t)));
          },
          values,
          count);
    case KernelFunction::kPolynomial:
      return transform(
          [&kernel](D d, V s) {
            const V base = hn::Add(hn::Mul(s, hn::Set(d, kernel.scale)), hn::Set(d, kernel.offset));
            return power(d, base, kernel.degree);
          },
          values,
          count);
    case KernelFunction::kLinear:
    case KernelFunction::kCosine:
      return;
  }
}

}  // namespace matapprox::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox {

HWY_EXPORT(group_size);
HWY_EXPORT(accumulate_target);
HWY_EXPORT(transform_column);

Accumulation TileKernel::accumulation() const {
  switch (function) {
    case KernelFunction::kGaussian:
    case KernelFunction::kMatern32:
    case KernelFunction::kMatern52:
      return Accumulation::kSquaredDifference;
    case KernelFunction::kLaplacian:
      return Accumulation::kAbsoluteDifference;
    case KernelFunction::kPolynomial:
    case KernelFunction::kLinear:
    case KernelFunction::kCosine:
      break;
  }
  return Accumulation::kProduct;
}

PackedPoints pack_points(const Matrix& points, Index row, Index count) {
  const Index dimension = points.cols();
  const Index size = HWY_DYNAMIC_DISPATCH(group_size)();
  const Index groups = (count + size - 1) / size;
  PackedPoints packed{
      count, dimension, std::vector<double>(static_cast<std::size_t>(groups * size * dimension))};
  for (Index f = 0; f < dimension; ++f) {
    const double* source = points.col(f).data() + row;
    for (Index g = 0; g < groups; ++g) {
      const Index filled = std::min(size, count - g * size);
      std::copy_n(source + g * size, filled, packed.values.data() + (g * dimension + f) * size);
    }
  }
  return packed;
}

void accumulate_tile(Accumulation accumulation,
                     const PackedPoints& points,
                     const ConstBlock& others,
                     Block out) {
  const Index stride = out.outerStride();
  HWY_DYNAMIC_DISPATCH(accumulate_target)(accumulation, points, others, out.data(), stride);
}

void transform_tile(const TileKernel& kernel, Block sums) {
  for (Index c = 0; c < sums.cols(); ++c) {
    HWY_DYNAMIC_DISPATCH(transform_column)(kernel, sums.col(c).data(), sums.rows());
  }
}

}  // namespace matapprox
#endif  // HWY_ONCE
