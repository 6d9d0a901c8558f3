#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Bytes of a whole file, owned; converts to a view of them.
class InputBytes {
 public:
  InputBytes() = default;
  explicit InputBytes(std::size_t size);  ///< uninitialized
  char* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_.get(), size_}; }
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  void resize(std::size_t size);  ///< keeps what fits, the rest is uninitialized

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// The whole of a file, or of standard input for "-", gunzipped if it starts as gzip does. Throws
/// FileError if it is missing, a folder, unreadable, or damaged; NotAvailable if it does not fit in
/// memory.
InputBytes read_all(const std::string& path);

/// True for a regular file that does not start as gzip does: one that can be read in pieces.
bool is_plain_file(const std::string& path);

/// "-" reads as "standard input" in messages.
std::string display_name(const std::string& path);

/// Decompresses gzip (several members too), at most `limit` bytes. Throws FileError for damaged
/// data.
InputBytes gunzip(std::string_view compressed,
                  const std::string& name,
                  Index limit = std::numeric_limits<Index>::max());

}  // namespace matapprox
