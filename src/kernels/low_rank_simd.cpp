#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/low_rank_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/packed_octets-inl.hpp"
#include "kernels/packed_simd.hpp"
#include "kernels/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DoubleVector = hn::Vec<Doubles>;
constexpr Index kVectors = 8 / kDoubles;
/// Number of components at a time.
constexpr Index kGroup = 4;

/// Calls function(0), function(1), ..., each with a constant, so that arrays stay in registers.
template <Index kCount, class Function>
HWY_INLINE void unrolled(const Function& function) {
  if constexpr (kCount > 0) {
    unrolled<kCount - 1>(function);
    function(std::integral_constant<Index, kCount - 1>());
  }
}

/// The columns u_k, or v_k, of a group of components.
template <class Octets, Index kCount>
struct Columns {
  Octets octets[kCount];
  const std::uint8_t* data[kCount];
};

/// Operations of a pass over columns on an octet of values; see pass().
struct Dots {
  const double* x;  ///< sums[k] = values of column k times x
  double* sums;
};
struct Axpys {
  const double* factors;  ///< y += factors[k] times values of column k, + shift
  double shift;
  double* y;
};

/// A vector of the numbers at p + i; those from index `count` on do not exist and become 0.
template <bool kWhole>
HWY_INLINE DoubleVector load(const double* p, Index i, Index count) {
  const Doubles d;
  if constexpr (kWhole) return hn::LoadU(d, p + i);
  return load_some(p + i, std::clamp<Index>(count - i, 0, kDoubles));
}

template <bool kWhole>
HWY_INLINE void store(DoubleVector v, double* p, Index i, Index count) {
  const Doubles d;
  if constexpr (kWhole) return hn::StoreU(v, d, p + i);
  store_some(v, p + i, std::clamp<Index>(count - i, 0, kDoubles));
}

/// Stores the sums of the lanes of kCount vectors.
template <Index kCount>
HWY_INLINE void store_sums(const DoubleVector* vectors, double* sums) {
  const Doubles d;
  unrolled<kCount>([&](auto k) HWY_ATTR { sums[k] = hn::GetLane(hn::SumOfLanes(d, vectors[k])); });
}

/// State of a pass, in registers.
template <bool kDots, bool kAxpys, bool kKeep, class Octets, Index kCount>
struct Pass {
  Columns<Octets, kCount> columns;
  DoubleVector sums[kCount];
  DoubleVector factors[kCount];
  DoubleVector shift;
  const double* x;
  double* y;
  double* kept;

  HWY_INLINE Pass(const Columns<Octets, kCount>& all,
                  const Dots& dots,
                  const Axpys& axpys,
                  double* kept_values)
      : columns(all), x(dots.x), y(axpys.y), kept(kept_values) {
    const Doubles d;
    unrolled<kCount>([&](auto k) HWY_ATTR {
      if constexpr (kDots) sums[k] = hn::Zero(d);
      if constexpr (kAxpys) factors[k] = hn::Set(d, axpys.factors[k]);
    });
    if constexpr (kAxpys) shift = hn::Set(d, axpys.shift);
  }

  /// Processes the next octet, of which `left` values exist.
  template <bool kWhole>
  HWY_INLINE void octet(Index left) {
    const Doubles d;
    DoubleVector of_x[kVectors];
    DoubleVector of_y[kVectors];
    unrolled<kVectors>([&](auto v) HWY_ATTR {
      if constexpr (kDots) of_x[v] = load<kWhole>(x, v * kDoubles, left);
      if constexpr (kAxpys) of_y[v] = hn::Add(load<kWhole>(y, v * kDoubles, left), shift);
    });
    unrolled<kCount>([&](auto k) HWY_ATTR {
      columns.octets[k].give(columns.data[k], 0, [&](Index at, auto v) HWY_ATTR {
        if constexpr (kKeep) hn::Store(v, d, kept + k * 8 + at);
        if constexpr (kDots) sums[k] = hn::MulAdd(v, of_x[at / kDoubles], sums[k]);
        if constexpr (kAxpys) of_y[at / kDoubles] = hn::MulAdd(v, factors[k], of_y[at / kDoubles]);
      });
      columns.data[k] += columns.octets[k].stride;
    });
    if constexpr (kAxpys) {
      unrolled<kVectors>([&](auto v) HWY_ATTR { store<kWhole>(of_y[v], y, v * kDoubles, left); });
    }
    if constexpr (kDots) x += 8;
    if constexpr (kAxpys) y += 8;
    if constexpr (kKeep) kept += 8 * kCount;
  }
};

/// One pass over the columns, which are unpacked, for dots, axpys or both. With kKeep the values
/// are stored in `kept`, octet by octet, for all columns together.
template <bool kDots, bool kAxpys, bool kKeep, class Octets, Index kCount>
HWY_INLINE void pass(const Columns<Octets, kCount>& columns,
                     Index count,
                     const Dots& dots,
                     const Axpys& axpys,
                     double* kept) {
  Pass<kDots, kAxpys, kKeep, Octets, kCount> now(columns, dots, axpys, kept);
  for (; count >= 8; count -= 8) now.template octet<true>(8);
  if (count > 0) now.template octet<false>(count);
  if constexpr (kDots) store_sums<kCount>(now.sums, dots.sums);
}

/// The same axpys with values that pass() has stored.
template <Index kCount>
HWY_INLINE void add_kept(const double* kept, Index count, const Axpys& axpys) {
  const Doubles d;
  DoubleVector factors[kCount];
  unrolled<kCount>([&](auto k) HWY_ATTR { factors[k] = hn::Set(d, axpys.factors[k]); });
  const auto shift = hn::Set(d, axpys.shift);
  double* y = axpys.y;
  const auto octet = [&](Index i, auto whole) HWY_ATTR {
    for (Index v = 0; v < 8; v += kDoubles) {
      auto of_y = hn::Add(load<whole()>(y, i + v, count), shift);
      unrolled<kCount>([&](auto k) HWY_ATTR {
        of_y = hn::MulAdd(hn::Load(d, kept + i * kCount + k * 8 + v), factors[k], of_y);
      });
      store<whole()>(of_y, y, i + v, count);
    }
  };
  Index i = 0;
  for (; i + 8 <= count; i += 8) octet(i, std::true_type());
  if (i < count) octet(i, std::false_type());
}

/// The sum of count numbers.
HWY_INLINE double sum_of(const double* x, Index count) {
  const Doubles d;
  auto sum = hn::Zero(d);
  Index i = 0;
  for (; i + kDoubles <= count; i += kDoubles) sum = hn::Add(sum, hn::LoadU(d, x + i));
  if (i < count) sum = hn::Add(sum, load<false>(x, i, count));
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

/// A product with a block: the columns that are read are multiplied by x, the result is added to y.
struct Side {
  const double* x = nullptr;
  double* y = nullptr;
  double sum = 0;  ///< sum of x
};

/// Components first .. first + kCount - 1: `read` are the v_k and `written` the u_k, or the other
/// way around.
template <class Octets, Index kCount>
struct Components {
  Columns<Octets, kCount> read;
  Columns<Octets, kCount> written;
  double scales[kCount];
  double offset;

  /// Computes factors for the other side, from the sums of x times the values as they are unpacked.
  HWY_INLINE Axpys axpys(const double* sums, double sum_of_x, double* factors, double* y) const {
    double shift = 0;
    for (Index k = 0; k < kCount; ++k) {
      const double gain = read.octets[k].gain;
      const double below = offset - gain * Octets::zero;
      const double weight = scales[k] * (gain * sums[k] + below * sum_of_x);
      factors[k] = weight * gain;
      shift += weight * below;
    }
    return {factors, shift, y};
  }
};

enum class Wanted { kProduct, kSymmetric, kBoth };

template <Wanted kWanted, class Octets, Index kCount>
HWY_INLINE void add_components(const Components<Octets, kCount>& part,
                               Index read_count,
                               Index written_count,
                               const Side& side,
                               const Side& mirrored,
                               double* kept) {
  double sums[kCount];
  double factors[kCount];
  constexpr bool kKeep = kWanted != Wanted::kProduct;
  pass<true, false, kKeep>(part.read, read_count, {side.x, sums}, {}, kept);
  const Axpys axpys = part.axpys(sums, side.sum, factors, side.y);
  if constexpr (kWanted == Wanted::kProduct) {
    pass<false, true, false>(part.written, written_count, {}, axpys, nullptr);
  } else if constexpr (kWanted == Wanted::kSymmetric) {
    add_kept<kCount>(kept, read_count, axpys);
  } else {
    pass<true, true, false>(part.written, written_count, {mirrored.x, sums}, axpys, nullptr);
    add_kept<kCount>(kept, read_count, part.axpys(sums, mirrored.sum, factors, mirrored.y));
  }
}

template <class Octets, std::size_t... k>
HWY_INLINE auto columns_of(const std::uint8_t* bits,
                           const std::uint8_t* const* data,
                           std::index_sequence<k...> /*all*/) {
  return Columns<Octets, sizeof...(k)>{{Octets(bits[k])...}, {data[k]...}};
}

template <Wanted kWanted, Index kCount, class Octets>
HWY_INLINE void add_group(const LowRankBlock& B,
                          Index first,
                          const std::uint8_t* const* u,
                          const std::uint8_t* const* v,
                          bool transposed,
                          const Side& side,
                          const Side& mirrored,
                          double* kept) {
  const auto all = std::make_index_sequence<static_cast<std::size_t>(kCount)>();
  const std::uint8_t* bits = B.bits + first;
  Components<Octets, kCount> part{columns_of<Octets>(bits, transposed ? u : v, all),
                                  columns_of<Octets>(bits, transposed ? v : u, all),
                                  {},
                                  B.offset};
  for (Index k = 0; k < kCount; ++k) {
    const std::uint32_t upper = B.scales[first + k];
    part.scales[k] = B.unit * static_cast<double>(std::bit_cast<float>(upper << 16U));
  }
  add_components<kWanted>(
      part, transposed ? B.rows : B.cols, transposed ? B.cols : B.rows, side, mirrored, kept);
}

template <Wanted kWanted>
HWY_INLINE void add_block(const LowRankBlock& B, bool transposed, Side side, Side mirrored) {
  const Index read_count = transposed ? B.rows : B.cols;
  side.sum = sum_of(side.x, read_count);
  double* kept = nullptr;
  if constexpr (kWanted != Wanted::kProduct) {
    thread_local Scratch<double> scratch;
    kept = scratch.reserve((read_count + 7) / 8 * 8 * kGroup);
  }
  if constexpr (kWanted == Wanted::kBoth) mirrored.sum = sum_of(mirrored.x, B.rows);
  const std::uint8_t* position = B.data;
  for (Index first = 0; first < B.count; first += kGroup) {
    const Index count = std::min(kGroup, B.count - first);
    const std::uint8_t* u[kGroup];
    const std::uint8_t* v[kGroup];
    int widest = 0;
    for (Index k = 0; k < count; ++k) {
      const int bits = B.bits[first + k];
      widest = std::max(widest, bits);
      u[k] = position;
      position += (B.rows * bits + 7) / 8;
      v[k] = B.symmetric ? u[k] : position;
      if (!B.symmetric) position += (B.cols * bits + 7) / 8;
    }
    const auto add = [&](auto number) HWY_ATTR {
      constexpr Index kCount = number();
      if constexpr (kNarrowBits > 0) {
        if (widest <= kNarrowBits) {
          return add_group<kWanted, kCount, NarrowOctets>(
              B, first, u, v, transposed, side, mirrored, kept);
        }
      }
      add_group<kWanted, kCount, IntegerOctets>(B, first, u, v, transposed, side, mirrored, kept);
    };
    switch (count) {
      case 1:
        add(std::integral_constant<Index, 1>());
        break;
      case 2:
        add(std::integral_constant<Index, 2>());
        break;
      case 3:
        add(std::integral_constant<Index, 3>());
        break;
      default:
        add(std::integral_constant<Index, 4>());
    }
  }
}

void low_rank_product_impl(const LowRankBlock& B, bool transposed, const double* x, double* y) {
  if (B.symmetric) return add_block<Wanted::kSymmetric>(B, false, {x, y}, {});
  add_block<Wanted::kProduct>(B, transposed, {x, y}, {});
}

void low_rank_products_impl(const LowRankBlock& B,
                            const double* x,
                            double* y,
                            const double* mirrored_x,
                            double* mirrored_y) {
  add_block<Wanted::kBoth>(B, false, {x, y}, {mirrored_x, mirrored_y});
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(low_rank_product_impl);
HWY_EXPORT(low_rank_products_impl);

void low_rank_product(const LowRankBlock& B, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(low_rank_product_impl)(B, false, x, y);
}

void low_rank_transpose_product(const LowRankBlock& B, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(low_rank_product_impl)(B, true, x, y);
}

void low_rank_products(const LowRankBlock& B,
                       const double* x,
                       double* y,
                       const double* mirrored_x,
                       double* mirrored_y) {
  HWY_DYNAMIC_DISPATCH(low_rank_products_impl)(B, x, y, mirrored_x, mirrored_y);
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE
