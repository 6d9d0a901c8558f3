#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Owner of the bytes of a whole file; converts to a view of them.
class InputBytes {
 public:
  InputBytes() = default;
  explicit InputBytes(std::size_t size);  ///< uninitialized
  char* data() { return data_.get(); }
  std::size_t size() const { return size_; }
  std::string_view view() const { return {data_.get(), size_}; }
  operator std::string_view() const { return view(); }  // NOLINT(google-explicit-constructor)
  void resize(std::size_t size);  ///< keeps the bytes that fit; new ones are uninitialized

 private:
  std::unique_ptr<char[]> data_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

/// Throws FileError if the first bytes of a file cannot be those of its format. Called with up to 1
/// MiB of them, or all of a shorter file.
using StartCheck = std::function<void(std::string_view start, const std::string& name)>;

/// Check for formats without a signature: a text has no zero bytes.
void require_text(std::string_view start, const std::string& name);

/// Reads a whole file, or standard input for "-", and decompresses it if it starts like gzip. Calls
/// `check` for the beginning before the rest is read, and for the beginning of the inflated data,
/// so that an endless or foreign file costs no memory; without `check`, refuses a device. Throws
/// FileError if the file is missing, a folder, unreadable, damaged, or inflates to more than
/// inflated_text_limit; NotAvailable if it does not fit in memory.
InputBytes read_all(const std::string& path, const StartCheck& check = {});

/// True for a regular file that does not start like gzip and can thus be read in pieces.
bool is_plain_file(const std::string& path);

/// Name of the input in messages: "standard input" for "-".
std::string display_name(const std::string& path);

/// Decompresses gzip (several members too), to at most `most` bytes, by default
/// inflated_text_limit. Throws FileError for damaged data, and the errors of `check`.
InputBytes gunzip(std::string_view compressed,
                  const std::string& name,
                  std::optional<Index> most = {},
                  const StartCheck& check = {});

}  // namespace matapprox
