#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/text_input.hpp"
#include "matapprox/core/types.hpp"

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

/// Reads the bytes of a file, or of standard input for "-", once and in order. Polls the current
/// StopScope while it waits for a pipe.
class ByteStream {
 public:
  /// Throws FileError if the file cannot be opened.
  explicit ByteStream(const std::string& path);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  const std::string& name() const { return name_; }  ///< for messages
  /// Returns the next `count` bytes without consuming them, fewer only at the end; valid until the
  /// next call.
  std::string_view peek(Index count);
  /// Consumes bytes that peek returned.
  void advance(Index count);
  bool at_end() { return peek(1).empty(); }

 private:
  void fill(std::size_t count);

  std::string name_;
  int descriptor_;
  InputBytes buffer_;
  std::size_t begin_ = 0;  ///< start of the unread bytes in the buffer
  std::size_t end_ = 0;
  bool ended_ = false;
};

}  // namespace matapprox
