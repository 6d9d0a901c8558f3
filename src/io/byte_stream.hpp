#pragma once

#include <string>
#include <string_view>

#include "io/text_input.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

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
