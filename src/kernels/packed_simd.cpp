#include "kernels/simd_targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/packed_simd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "kernels/packed_octets-inl.hpp"
#include "kernels/packed_simd.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Calls f(octets, offset) with the octets that read this run.
template <class Function>
HWY_INLINE auto with_octets(const PackedRun& run, const Function& f) {
  if (run.bits == 64) return f(DoubleOctets(), 0.0);
  if (run.bits == 32) return f(FloatOctets(), 0.0);
  if constexpr (kNarrowBits > 0) {
    if (run.bits <= kNarrowBits) return f(NarrowOctets(run.bits), run.offset);
  }
  return f(IntegerOctets(run.bits), run.offset);
}

/// Octets of four runs of integers.
template <class Octets>
struct Four {
  Octets of[4];
  HWY_INLINE const Octets& operator[](int k) const { return of[k]; }
};
template <class Octets>
struct FourAlike {
  Octets of_all;
  HWY_INLINE const Octets& operator[](int /*k*/) const { return of_all; }
};

/// Calls f(octets), where octets[k], of type Octets, reads run k.
template <class Octets, class Function>
HWY_INLINE void with_four_of(const PackedRun runs[4], const Function& f) {
  const int bits = runs[0].bits;
  if (runs[1].bits == bits && runs[2].bits == bits && runs[3].bits == bits) {
    return f(FourAlike<Octets>{Octets(bits)});
  }
  f(Four<Octets>{{Octets(bits), Octets(runs[1].bits), Octets(runs[2].bits), Octets(runs[3].bits)}});
}

/// The same with the fastest type of octets.
template <class Function>
HWY_INLINE void with_four(const PackedRun runs[4], const Function& f) {
  int widest = 0;
  int narrowest = 64;
  for (int k = 0; k < 4; ++k) {
    widest = std::max(widest, runs[k].bits);
    narrowest = std::min(narrowest, runs[k].bits);
  }
  if (kDoubles < 8 && narrowest == widest && widest == 8) {
    return f(FourAlike<ByteOctets<std::int8_t>>());
  }
  if (narrowest == widest && widest == 16) return f(FourAlike<ByteOctets<std::int16_t>>());
  if constexpr (kNarrowBits > 0) {
    if (widest <= kNarrowBits) return with_four_of<NarrowOctets>(runs, f);
  }
  with_four_of<IntegerOctets>(runs, f);
}

/// The values, without an offset, of an incomplete last octet; no byte of the run past them is
/// read.
template <class Octets>
HWY_INLINE void last_values(
    const Octets& octets, const PackedRun& run, Index octet, Index count, double* values) {
  alignas(64) std::uint8_t copy[64] = {};
  const Index bytes = (count * run.bits + 7) / 8;
  std::memcpy(copy, run.data + octet * run.bits, static_cast<std::size_t>(bytes));
  const Doubles d;
  octets.give(copy, 0, [&](Index i, auto v) HWY_ATTR {
    const auto above = hn::Sub(v, hn::Set(d, octets.zero));
    hn::StoreU(hn::Mul(above, hn::Set(d, octets.gain)), d, values + i);
  });
}

/// values[i] = value first + i, times factor(its octet).
template <class Factor>
HWY_INLINE void unpack(
    const PackedRun& run, Index first, Index count, double* values, const Factor& factor) {
  const Doubles d;
  with_octets(run, [&](const auto& octets, double offset) HWY_ATTR {
    // Nothing is rounded: gain is a power of 2.
    const auto shift = hn::Set(d, offset - octets.gain * octets.zero);
    const auto gain = hn::Set(d, octets.gain);
    const auto local = octets;
    const std::uint8_t* data = run.data;
    Index octet = first / 8;
    Index i = 0;
    for (; i + 8 <= count; i += 8, ++octet) {
      const auto factors = hn::Set(d, factor(octet));
      local.give(data, octet, [&](Index at, auto v) HWY_ATTR {
        hn::StoreU(hn::Mul(hn::MulAdd(v, gain, shift), factors), d, values + i + at);
      });
    }
    if (i == count) return;
    double rest[8];
    last_values(octets, run, octet, count - i, rest);
    for (Index j = 0; i + j < count; ++j) values[i + j] = factor(octet) * (rest[j] + offset);
  });
}

void packed_values_impl(
    const PackedRun& run, Index first, Index count, double* values, double factor) {
  unpack(run, first, count, values, [&](Index /*octet*/) { return factor; });
}

void packed_scaled_values_impl(
    const PackedRun& run, Index first, Index count, const PackedScales& scales, double* values) {
  unpack(run, first, count, values, [unit = scales.unit, of = scales.scales](Index octet) {
    const std::uint32_t upper = of[octet / (PackedScales::kGroup / 8)];
    return unit * static_cast<double>(std::bit_cast<float>(upper << 16U));
  });
}

void packed_axpy_impl(const PackedRun& run, Index first, Index count, double alpha, double* y) {
  const Doubles d;
  with_octets(run, [&](const auto& octets, double offset) HWY_ATTR {
    const auto shift = hn::Set(d, alpha * (offset - octets.gain * octets.zero));
    const auto factor = hn::Set(d, alpha * octets.gain);
    const Index octet = first / 8;
    Index i = 0;
    for (; i + 8 <= count; i += 8) {
      octets.give(run.data, octet + i / 8, [&](Index at, auto v) HWY_ATTR {
        double* place = y + i + at;
        hn::StoreU(hn::MulAdd(v, factor, hn::Add(hn::LoadU(d, place), shift)), d, place);
      });
    }
    if (i == count) return;
    double rest[8];
    last_values(octets, run, octet + i / 8, count - i, rest);
    for (Index j = 0; i + j < count; ++j) y[i + j] += alpha * (rest[j] + offset);
  });
}

/// Calls step(i, octet) for the complete octets of four runs from `octet` on, i = 0, 8, ...;
/// returns the first i that is left. Runs are too short for the hardware to prefetch them: the same
/// positions of the next runs are prefetched meanwhile. (For data in memory that makes products 1.3
/// to 2 times as fast.)
template <class Step>
HWY_INLINE Index for_octets(const PackedRun runs[4], Index octet, Index count, const Step& step) {
  // Four octets of at most 16 bits fill at most a cache line.
  constexpr Index kFetched = 4;
  const std::uint8_t* next[4];
  std::ptrdiff_t fetched_bytes[4];
  for (int k = 0; k < 4; ++k) {
    next[k] = runs[k].data + runs[k].next + octet * runs[k].bits;
    fetched_bytes[k] = kFetched * runs[k].bits;
  }
  Index i = 0;
  for (; i + 8 * kFetched <= count; i += 8 * kFetched, octet += kFetched) {
    for (int k = 0; k < 4; ++k) {
      __builtin_prefetch(next[k]);
      next[k] += fetched_bytes[k];
    }
    for (Index o = 0; o < kFetched; ++o) step(i + 8 * o, octet + o);
  }
  for (; i + 8 <= count; i += 8, ++octet) step(i, octet);
  return i;
}

void packed_axpy_4_impl(
    const PackedRun runs[4], Index first, Index count, const double alpha[4], double* y) {
  constexpr Index kVectors = 8 / kDoubles;
  const Doubles d;
  with_four(runs, [&](const auto& octets) HWY_ATTR {
    // Offsets are added once, times the factors. All data that the loop reads are local, because y
    // may alias others.
    double of_offsets = 0;
    hn::Vec<Doubles> factors[4];
    const std::uint8_t* data[4];
    for (int k = 0; k < 4; ++k) {
      of_offsets += alpha[k] * (runs[k].offset - octets[k].gain * octets[k].zero);
      factors[k] = hn::Set(d, alpha[k] * octets[k].gain);
      data[k] = runs[k].data;
    }
    const auto local = octets;
    const auto shift = hn::Set(d, of_offsets);
    const Index done = for_octets(runs, first / 8, count, [&](Index i, Index octet) HWY_ATTR {
      hn::Vec<Doubles> sums[kVectors];
      for (Index v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(hn::LoadU(d, y + i + v * kDoubles), shift);
      }
      for (int k = 0; k < 4; ++k) {
        local[k].give(data[k], octet, [&](Index at, auto v) HWY_ATTR {
          sums[at / kDoubles] = hn::MulAdd(v, factors[k], sums[at / kDoubles]);
        });
      }
      for (Index v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, y + i + v * kDoubles);
    });
    if (done == count) return;
    for (int k = 0; k < 4; ++k) {
      double rest[8];
      last_values(octets[k], runs[k], (first + done) / 8, count - done, rest);
      for (Index j = 0; done + j < count; ++j) y[done + j] += alpha[k] * (rest[j] + runs[k].offset);
    }
  });
}

double packed_dot_impl(const PackedRun& run, Index first, Index count, const double* x) {
  constexpr Index kVectors = 8 / kDoubles;
  const Doubles d;
  return with_octets(run, [&](const auto& octets, double offset) HWY_ATTR {
    hn::Vec<Doubles> sums[2 * kVectors];
    for (auto& sum : sums) sum = hn::Zero(d);
    auto of_x = hn::Zero(d);
    const auto add = [&](Index i, Index octet, hn::Vec<Doubles>* into) HWY_ATTR {
      octets.give(run.data, octet, [&](Index at, auto v) HWY_ATTR {
        const auto of_values = hn::LoadU(d, x + i + at);
        of_x = hn::Add(of_x, of_values);
        auto& sum = into[at / kDoubles];
        sum = hn::MulAdd(v, of_values, sum);
      });
    };
    const Index octet = first / 8;
    Index i = 0;
    for (; i + 16 <= count; i += 16) {
      add(i, octet + i / 8, sums);
      add(i + 8, octet + i / 8 + 1, sums + kVectors);
    }
    if (i + 8 <= count) {
      add(i, octet + i / 8, sums);
      i += 8;
    }
    for (Index v = 1; v < 2 * kVectors; ++v) sums[0] = hn::Add(sums[0], sums[v]);
    const double whole = hn::GetLane(hn::SumOfLanes(d, of_x));
    double total = octets.gain * hn::GetLane(hn::SumOfLanes(d, sums[0])) +
                   (offset - octets.gain * octets.zero) * whole;
    if (i == count) return total;
    double rest[8];
    last_values(octets, run, octet + i / 8, count - i, rest);
    for (Index j = 0; i + j < count; ++j) total += x[i + j] * (rest[j] + offset);
    return total;
  });
}

/// x is read once for all four runs, and the offsets are added once, times the sum of x.
void packed_dot_4_impl(
    const PackedRun runs[4], Index first, Index count, const double* x, double sums[4]) {
  constexpr Index kVectors = 8 / kDoubles;
  const Doubles d;
  with_four(runs, [&](const auto& octets) HWY_ATTR {
    hn::Vec<Doubles> parts[4];
    for (auto& part : parts) part = hn::Zero(d);
    auto of_x = hn::Zero(d);
    const Index done = for_octets(runs, first / 8, count, [&](Index i, Index octet) HWY_ATTR {
      hn::Vec<Doubles> values[kVectors];
      for (Index v = 0; v < kVectors; ++v) {
        values[v] = hn::LoadU(d, x + i + v * kDoubles);
        of_x = hn::Add(of_x, values[v]);
      }
      for (int k = 0; k < 4; ++k) {
        octets[k].give(runs[k].data, octet, [&](Index at, auto v) HWY_ATTR {
          parts[k] = hn::MulAdd(v, values[at / kDoubles], parts[k]);
        });
      }
    });
    const double whole = hn::GetLane(hn::SumOfLanes(d, of_x));
    for (int k = 0; k < 4; ++k) {
      const double shift = runs[k].offset - octets[k].gain * octets[k].zero;
      sums[k] = octets[k].gain * hn::GetLane(hn::SumOfLanes(d, parts[k])) + shift * whole;
      if (done == count) continue;
      double rest[8];
      last_values(octets[k], runs[k], (first + done) / 8, count - done, rest);
      for (Index j = 0; done + j < count; ++j) sums[k] += x[done + j] * (rest[j] + runs[k].offset);
    }
  });
}

/// Calls function(0), function(1), ..., each with a constant, so that arrays stay in registers.
template <Index kCount, class Function>
HWY_INLINE void for_each_of(const Function& function) {
  if constexpr (kCount > 0) {
    for_each_of<kCount - 1>(function);
    function(std::integral_constant<Index, kCount - 1>());
  }
}

/// Multiplies kCount columns from j on, the first of which is at `columns`; x and y are read once
/// for all of them. Returns the position of the next column.
template <Index kCount>
HWY_INLINE const double* add_triangle_columns(const double* columns,
                                              Index j,
                                              const double* x,
                                              double* y) {
  const Doubles d;
  const double* column[kCount];
  hn::Vec<Doubles> factors[kCount];
  hn::Vec<Doubles> sums[kCount];
  for_each_of<kCount>([&](auto c) HWY_ATTR {
    column[c] = columns + c * j + c * (c + 1) / 2;
    factors[c] = hn::Set(d, x[j + c]);
    sums[c] = hn::Zero(d);
  });
  Index i = 0;
  for (; i + kDoubles <= j; i += kDoubles) {
    const auto of_x = hn::LoadU(d, x + i);
    auto of_y = hn::LoadU(d, y + i);
    for_each_of<kCount>([&](auto c) HWY_ATTR {
      const auto values = hn::LoadU(d, column[c] + i);
      sums[c] = hn::MulAdd(values, of_x, sums[c]);
      of_y = hn::MulAdd(values, factors[c], of_y);
    });
    hn::StoreU(of_y, d, y + i);
  }
  if (i < j) {
    const auto of_x = load_some(x + i, j - i);
    auto of_y = load_some(y + i, j - i);
    for_each_of<kCount>([&](auto c) HWY_ATTR {
      const auto values = load_some(column[c] + i, j - i);
      sums[c] = hn::MulAdd(values, of_x, sums[c]);
      of_y = hn::MulAdd(values, factors[c], of_y);
    });
    store_some(of_y, y + i, j - i);
  }
  // The triangle at the end of these columns.
  const auto of_x = load_some(x + j, kCount);
  auto of_y = load_some(y + j, kCount);
  for_each_of<kCount>([&](auto c) HWY_ATTR {
    sums[c] = hn::MulAdd(load_some(column[c] + j, c()), of_x, sums[c]);
    of_y = hn::MulAdd(load_some(column[c] + j, c() + 1), factors[c], of_y);
  });
  alignas(64) double totals[kDoubles] = {};
  for_each_of<kCount>([&](auto c)
                          HWY_ATTR { totals[c] = hn::GetLane(hn::SumOfLanes(d, sums[c])); });
  store_some(hn::Add(of_y, hn::Load(d, totals)), y + j, kCount);
  return columns + kCount * j + kCount * (kCount + 1) / 2;
}

void triangle_product_impl(
    const double* columns, Index first, Index last, const double* x, double* y) {
  Index j = first;
  for (; j + kDoubles <= last; j += kDoubles) {
    columns = add_triangle_columns<kDoubles>(columns, j, x, y);
  }
  for (; j < last; ++j) columns = add_triangle_columns<1>(columns, j, x, y);
}

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace matapprox::kernels::simd {

HWY_EXPORT(packed_values_impl);
HWY_EXPORT(packed_scaled_values_impl);
HWY_EXPORT(packed_axpy_impl);
HWY_EXPORT(packed_axpy_4_impl);
HWY_EXPORT(packed_dot_impl);
HWY_EXPORT(packed_dot_4_impl);
HWY_EXPORT(triangle_product_impl);

void packed_values(const PackedRun& run, Index first, Index count, double* values, double factor) {
  HWY_DYNAMIC_DISPATCH(packed_values_impl)(run, first, count, values, factor);
}

void packed_scaled_values(
    const PackedRun& run, Index first, Index count, const PackedScales& scales, double* values) {
  HWY_DYNAMIC_DISPATCH(packed_scaled_values_impl)(run, first, count, scales, values);
}

void packed_axpy(const PackedRun& run, Index first, Index count, double alpha, double* y) {
  HWY_DYNAMIC_DISPATCH(packed_axpy_impl)(run, first, count, alpha, y);
}

void packed_axpy_4(
    const PackedRun runs[4], Index first, Index count, const double alpha[4], double* y) {
  HWY_DYNAMIC_DISPATCH(packed_axpy_4_impl)(runs, first, count, alpha, y);
}

double packed_dot(const PackedRun& run, Index first, Index count, const double* x) {
  return HWY_DYNAMIC_DISPATCH(packed_dot_impl)(run, first, count, x);
}

void packed_dot_4(
    const PackedRun runs[4], Index first, Index count, const double* x, double sums[4]) {
  HWY_DYNAMIC_DISPATCH(packed_dot_4_impl)(runs, first, count, x, sums);
}

void triangle_product(const double* columns, Index first, Index last, const double* x, double* y) {
  HWY_DYNAMIC_DISPATCH(triangle_product_impl)(columns, first, last, x, y);
}

}  // namespace matapprox::kernels::simd
#endif  // HWY_ONCE
