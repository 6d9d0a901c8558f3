// Unpacks values in few bits to doubles, eight at a time, once per instruction set (no pragma once:
// Highway includes this again for each).
#if defined(MATAPPROX_KERNELS_PACKED_OCTETS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MATAPPROX_KERNELS_PACKED_OCTETS_INL
#undef MATAPPROX_KERNELS_PACKED_OCTETS_INL
#else
#define MATAPPROX_KERNELS_PACKED_OCTETS_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "kernels/packed_tables.hpp"
#include "matapprox/core/types.hpp"

HWY_BEFORE_NAMESPACE();
namespace matapprox::kernels::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Ints = hn::CappedTag<std::int32_t, 8>;
constexpr Index kDoubles = hn::MaxLanes(Doubles());
constexpr Index kInts = hn::MaxLanes(Ints());

// In some instruction sets masked loads and stores may touch masked memory; part of a vector is
// then copied through an array.

/// The first `count` numbers at p, and zeros.
HWY_INLINE hn::Vec<Doubles> load_some(const double* p, Index count) {
  const Doubles d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN std::array<double, kDoubles> numbers = {};
  std::copy_n(p, count, numbers.data());
  return hn::Load(d, numbers.data());
#else
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#endif
}

/// Stores the first `count` numbers of v at p.
HWY_INLINE void store_some(hn::Vec<Doubles> v, double* p, Index count) {
  const Doubles d;
#if HWY_MEM_OPS_MIGHT_FAULT
  HWY_ALIGN std::array<double, kDoubles> numbers;
  hn::Store(v, d, numbers.data());
  std::copy_n(numbers.data(), count, p);
#else
  hn::BlendedStore(v, hn::FirstN(d, static_cast<std::size_t>(count)), d, p);
#endif
}

#if HWY_TARGET != HWY_SCALAR
/// Calls f(i, values i .. i + kDoubles - 1 of the octet) for i = 0, kDoubles, ...
template <class V, class Function>
HWY_INLINE void give_doubles(V integers, Index i, const Function& f) {
  const Doubles d;
  if constexpr (sizeof(V) * 2 == sizeof(hn::Vec<Doubles>)) {
    f(i, hn::PromoteTo(d, integers));
  } else {
    const hn::Rebind<std::int32_t, Doubles> half;
    f(i, hn::PromoteTo(d, hn::LowerHalf(half, integers)));
    f(i + kDoubles, hn::PromoteTo(d, hn::UpperHalf(half, integers)));
  }
}

#endif

// Octets give eight values v at a time, each of which represents gain (v - zero).

/// Integers of 1 to 16 bits.
struct WholeOctets {
  static constexpr double zero = 0;
  static constexpr double gain = 1;
  const OctetTable& table;
  int right;
  std::size_t stride;

  explicit WholeOctets(int bits)
      : table(kOctetTables[static_cast<std::size_t>(bits)]),
        right(32 - bits),
        stride(static_cast<std::size_t>(bits)) {}

  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
#if HWY_TARGET == HWY_SCALAR
    const std::uint8_t* block = data + static_cast<std::size_t>(octet) * stride;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t word = 0;
      for (std::size_t b = 0; b < 4; ++b) {
        word |= std::uint32_t{block[table.bytes[4 * i + b]]} << (8 * b);
      }
      const auto top = static_cast<std::int32_t>(word << table.left[i]);
      f(static_cast<Index>(i), hn::Set(Doubles(), static_cast<double>(top >> right)));
    }
#else
    const Ints di;
    const hn::Repartition<std::uint8_t, Ints> du8;
    const auto block = hn::LoadDup128(du8, data + static_cast<std::size_t>(octet) * stride);
    for (Index i = 0; i < 8; i += kInts) {
      const auto places = hn::Load(du8, table.bytes.data() + 4 * i);
      const auto shifts = hn::Load(di, table.left.data() + i);
      const auto words = hn::BitCast(di, hn::TableLookupBytes(block, places));
      give_doubles(hn::ShiftRightSame(hn::Shl(words, shifts), right), i, f);
    }
#endif
  }
};

#if HWY_TARGET != HWY_SCALAR
/// The same for vectors of eight doubles: the b bits of q become the highest bits of the mantissa
/// of v = 1.5 + q / 2^b, which takes no conversion from an integer. The tables stay in registers.
struct MantissaOctets {
  static constexpr double zero = 1.5;
  using Words = hn::RebindToSigned<Doubles>;
  using Bytes = hn::Repartition<std::uint8_t, Doubles>;
  hn::Vec<Bytes> places;
  hn::Vec<Words> shifts;
  hn::Vec<Words> mask;
  double gain;
  std::size_t stride;

  explicit MantissaOctets(int bits)
      : MantissaOctets(kMantissaTables[static_cast<std::size_t>(bits)], bits) {}
  MantissaOctets(const MantissaTable& table, int bits)
      : places(hn::Load(Bytes(), table.bytes.data())),
        shifts(hn::Load(Words(), table.left.data())),
        mask(hn::Set(Words(), table.mask)),
        gain(table.gain),
        stride(static_cast<std::size_t>(bits)) {}

  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    // The exponent of 1, and the sign bit of q inverted.
    const auto one_and_half = hn::Set(Words(), std::int64_t{0x3FF8000000000000});
    const auto block = hn::LoadDup128(Bytes(), data + static_cast<std::size_t>(octet) * stride);
    const auto words = hn::BitCast(Words(), hn::TableLookupBytes(block, places));
    const auto field = hn::And(hn::Shl(words, shifts), mask);
    f(0, hn::BitCast(Doubles(), hn::Xor(field, one_and_half)));
  }
};
using IntegerOctets = std::conditional_t<kDoubles == 8, MantissaOctets, WholeOctets>;

#else
using IntegerOctets = WholeOctets;
#endif

// NarrowOctets: a faster type for integers of few bits, if there is one.

#if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX3
/// The same with a whole octet in each lane, rotated: one instruction less, because none gathers
/// bytes.
struct RotatedOctets {
  static constexpr double zero = 1.5;
  using Words = hn::RebindToSigned<Doubles>;
  hn::Vec<Words> rotations;
  hn::Vec<Words> mask;
  double gain;
  std::size_t stride;

  explicit RotatedOctets(int bits)
      : RotatedOctets(kMantissaTables[static_cast<std::size_t>(bits)], bits) {}
  RotatedOctets(const MantissaTable& table, int bits)
      : rotations(hn::Load(Words(), table.rotation.data())),
        mask(hn::Set(Words(), table.mask)),
        gain(table.gain),
        stride(static_cast<std::size_t>(bits)) {}

  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    const auto one_and_half = hn::Set(Words(), std::int64_t{0x3FF8000000000000});
    std::int64_t word = 0;
    std::memcpy(&word, data + static_cast<std::size_t>(octet) * stride, sizeof(word));
    const hn::Vec<Words> rotated{_mm512_rolv_epi64(hn::Set(Words(), word).raw, rotations.raw)};
    f(0, hn::BitCast(Doubles(), hn::Xor(hn::And(rotated, mask), one_and_half)));
  }
};
using NarrowOctets = RotatedOctets;
constexpr int kNarrowBits = kMaxRotatedBits;

#elif HWY_TARGET == HWY_AVX2
/// The same for vectors of four doubles, and integers of at most kMaxUpperHalfBits bits.
struct UpperHalfOctets {
  static constexpr double zero = 1.5;
  using Bytes = hn::Repartition<std::uint8_t, Ints>;
  hn::Vec<Bytes> places;
  hn::Vec<Ints> shifts;
  hn::Vec<Ints> mask;
  double gain;
  std::size_t stride;

  explicit UpperHalfOctets(int bits)
      : places(hn::Load(Bytes(), kUpperHalfTables[static_cast<std::size_t>(bits)].bytes.data())),
        shifts(hn::Load(Ints(), kUpperHalfTables[static_cast<std::size_t>(bits)].left.data())),
        mask(hn::Set(Ints(), ((1 << bits) - 1) << (20 - bits))),
        gain(static_cast<double>(1 << bits)),
        stride(static_cast<std::size_t>(bits)) {}

  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    const auto one_and_half = hn::Set(Ints(), 0x3FF80000);
    const auto block = hn::LoadDup128(Bytes(), data + static_cast<std::size_t>(octet) * stride);
    const auto words = hn::BitCast(Ints(), hn::TableLookupBytes(block, places));
    const auto halves = hn::Xor(hn::And(hn::Shl(words, shifts), mask), one_and_half);
    const auto lower = hn::Zero(Ints());
    f(0, hn::BitCast(Doubles(), hn::InterleaveLower(Ints(), lower, halves)));
    f(kDoubles, hn::BitCast(Doubles(), hn::InterleaveUpper(Ints(), lower, halves)));
  }
};
using NarrowOctets = UpperHalfOctets;
constexpr int kNarrowBits = kMaxUpperHalfBits;

#else
using NarrowOctets = IntegerOctets;
constexpr int kNarrowBits = 0;
#endif

/// Integers of whole bytes.
template <class Integer>
struct ByteOctets {
  static constexpr double zero = 0;
  static constexpr double gain = 1;
  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    const Doubles d;
    const hn::Rebind<std::int32_t, Doubles> di;
    const hn::Rebind<Integer, Doubles> narrow;
    const auto* integers = reinterpret_cast<const Integer*>(data) + 8 * octet;
    for (Index i = 0; i < 8; i += kDoubles) {
      f(i, hn::PromoteTo(d, hn::PromoteTo(di, hn::LoadU(narrow, integers + i))));
    }
  }
};

/// IEEE numbers.
struct FloatOctets {
  static constexpr double zero = 0;
  static constexpr double gain = 1;
  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    const Doubles d;
    const hn::Rebind<float, Doubles> df;
    const auto* floats = reinterpret_cast<const float*>(data + 32 * octet);
    for (Index i = 0; i < 8; i += kDoubles) f(i, hn::PromoteTo(d, hn::LoadU(df, floats + i)));
  }
};
struct DoubleOctets {
  static constexpr double zero = 0;
  static constexpr double gain = 1;
  template <class Function>
  HWY_INLINE void give(const std::uint8_t* data, Index octet, const Function& f) const {
    const Doubles d;
    const auto* doubles = reinterpret_cast<const double*>(data + 64 * octet);
    for (Index i = 0; i < 8; i += kDoubles) f(i, hn::LoadU(d, doubles + i));
  }
};

}  // namespace matapprox::kernels::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
