#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
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

/// Throws FileError if the first bytes of a file cannot be those of its format. It is given up to
/// 1 MiB of them, all of a shorter file.
using StartCheck = std::function<void(std::string_view start, const std::string& name)>;

/// A check for formats without a signature: a text does not hold zero bytes.
void require_text(std::string_view start, const std::string& name);

/// The whole of a file, or of standard input for "-", gunzipped if it starts as gzip does. `check`
/// sees the beginning before the rest is read, and again what it inflates to, so that an endless or
/// foreign file costs no memory. Throws FileError if the file is missing, a folder, unreadable,
/// damaged, or inflates to more than inflated_text_limit; NotAvailable if it does not fit in
/// memory.
InputBytes read_all(const std::string& path, const StartCheck& check = {});

/// True for a regular file that does not start as gzip does: one that can be read in pieces.
bool is_plain_file(const std::string& path);

/// "-" reads as "standard input" in messages.
std::string display_name(const std::string& path);

/// Decompresses gzip (several members too), to at most `most` bytes, without it to
/// inflated_text_limit. Throws FileError for damaged data, and what `check` throws.
InputBytes gunzip(std::string_view compressed,
                  const std::string& name,
                  std::optional<Index> most = {},
                  const StartCheck& check = {});

}  // namespace matapprox
