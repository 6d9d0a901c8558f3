#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace matapprox {

/// Returns the `count` bytes at `at` as a number, lowest byte first; the caller has to check that
/// they exist.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t k = count; k-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + k]);
  return value;
}

inline void append_little_endian(std::string& bytes, std::uint64_t value, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) bytes += static_cast<char>(value >> (8 * k) & 0xFF);
}

}  // namespace matapprox
