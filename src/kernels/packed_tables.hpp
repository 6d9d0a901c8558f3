#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace matapprox::kernels::simd {

/// For eight values of `bits` bits in `bits` bytes: the four bytes that contain each value, and the
/// shift to the left that makes its highest bit the highest of 32.
struct OctetTable {
  alignas(32) std::array<std::uint8_t, 32> bytes{};
  alignas(32) std::array<std::int32_t, 8> left{};
};

constexpr OctetTable octet_table(int bits) {
  OctetTable table;
  for (int lane = 0; lane < 8; ++lane) {
    const int first = lane * bits / 8;
    for (int b = 0; b < 4; ++b) {
      table.bytes[static_cast<std::size_t>(4 * lane + b)] =
          static_cast<std::uint8_t>(first + b < 16 ? first + b : 15);
    }
    table.left[static_cast<std::size_t>(lane)] = 32 - bits - lane * bits % 8;
  }
  return table;
}

constexpr std::array<OctetTable, 17> make_octet_tables() {
  std::array<OctetTable, 17> tables{};
  for (int bits = 1; bits <= 16; ++bits) {
    tables[static_cast<std::size_t>(bits)] = octet_table(bits);
  }
  return tables;
}

inline constexpr std::array<OctetTable, 17> kOctetTables = make_octet_tables();

/// The same for words of 64 bits, in which the value becomes the highest bits of a mantissa.
struct MantissaTable {
  alignas(64) std::array<std::uint8_t, 64> bytes{};
  alignas(64) std::array<std::int64_t, 8> left{};
  /// Rotation to the left, for each value, of the 64 bits that contain all eight values of up to 8
  /// bits.
  alignas(64) std::array<std::int64_t, 8> rotation{};
  std::int64_t mask = 0;  ///< mask of the bits of a value
  double gain = 0;        ///< ratio of a value to a mantissa
};

constexpr MantissaTable mantissa_table(int bits) {
  constexpr int kMantissa = 52;
  MantissaTable table;
  for (int lane = 0; lane < 8; ++lane) {
    for (int b = 0; b < 4; ++b) {
      table.bytes[static_cast<std::size_t>(8 * lane + b)] =
          octet_table(bits).bytes[static_cast<std::size_t>(4 * lane + b)];
    }
    table.left[static_cast<std::size_t>(lane)] = kMantissa - bits - lane * bits % 8;
    table.rotation[static_cast<std::size_t>(lane)] = (64 + kMantissa - bits - lane * bits) % 64;
  }
  table.mask = ((std::int64_t{1} << bits) - 1) << (kMantissa - bits);
  table.gain = static_cast<double>(1 << bits);
  return table;
}

constexpr std::array<MantissaTable, 17> make_mantissa_tables() {
  std::array<MantissaTable, 17> tables{};
  for (int bits = 1; bits <= 16; ++bits) {
    tables[static_cast<std::size_t>(bits)] = mantissa_table(bits);
  }
  return tables;
}

inline constexpr std::array<MantissaTable, 17> kMantissaTables = make_mantissa_tables();
inline constexpr int kMaxRotatedBits = 8;

/// The same for the upper halves of doubles, of 32 bits each, for widths at which no shift is
/// negative. The halves are ordered so that interleaving with lower halves of 0 gives the first
/// four doubles and the last four.
struct UpperHalfTable {
  alignas(32) std::array<std::uint8_t, 32> bytes{};
  alignas(32) std::array<std::int32_t, 8> left{};
};

inline constexpr int kMaxUpperHalfBits = 13;

constexpr UpperHalfTable upper_half_table(int bits) {
  constexpr int kMantissa = 20;
  constexpr std::array<int, 8> kOrder{0, 1, 4, 5, 2, 3, 6, 7};
  UpperHalfTable table;
  for (int position = 0; position < 8; ++position) {
    const int lane = kOrder[static_cast<std::size_t>(position)];
    for (int b = 0; b < 4; ++b) {
      table.bytes[static_cast<std::size_t>(4 * position + b)] =
          octet_table(bits).bytes[static_cast<std::size_t>(4 * lane + b)];
    }
    table.left[static_cast<std::size_t>(position)] = kMantissa - bits - lane * bits % 8;
  }
  return table;
}

constexpr std::array<UpperHalfTable, kMaxUpperHalfBits + 1> make_upper_half_tables() {
  std::array<UpperHalfTable, kMaxUpperHalfBits + 1> tables{};
  for (int bits = 1; bits <= kMaxUpperHalfBits; ++bits) {
    tables[static_cast<std::size_t>(bits)] = upper_half_table(bits);
  }
  return tables;
}

inline constexpr std::array<UpperHalfTable, kMaxUpperHalfBits + 1> kUpperHalfTables =
    make_upper_half_tables();

}  // namespace matapprox::kernels::simd
