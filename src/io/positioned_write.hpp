#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "matapprox/core/error.hpp"
#include "matapprox/core/types.hpp"

// Writing at a position of a file, also by the processes of MPI: their library links the core
// alone, so that this is a header without a source.
namespace matapprox {

/// Writes all bytes from `offset` on and starts their transfer to the disk. Returns 0, or the errno
/// of the failed call. Repeats calls that a signal interrupted.
inline int write_fully(int descriptor, std::uint64_t offset, std::string_view bytes) noexcept {
  constexpr std::size_t kPieceBytes = std::size_t{1} << 25;
  constexpr ssize_t kWorthStarting = ssize_t{1} << 20;
  while (!bytes.empty()) {
    const auto at = static_cast<off64_t>(offset);
    const ssize_t written =
        pwrite(descriptor, bytes.data(), std::min(bytes.size(), kPieceBytes), at);
    if (written >= 0) {
      // Starts the transfer to the disk while the rest is copied; fsync waits for it to finish.
      if (written >= kWorthStarting)
        sync_file_range(descriptor, at, written, SYNC_FILE_RANGE_WRITE);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

/// Throws a FileError such as "out.h5: cannot write: No space left on device".
[[noreturn]] inline void throw_cannot_write(const std::string& path, int code) {
  throw FileError(fmt::format("{}: cannot write: {}", path, std::generic_category().message(code)));
}

/// Position in a file of the numbers of a block, stored as little-endian doubles.
struct FilePlace {
  enum class Order { kRows, kColumns };
  std::string path;          ///< path of an existing file
  std::uint64_t offset = 0;  ///< offset of the first byte
  Order order = Order::kRows;
  std::string name;    ///< name of the file in messages
  bool finite = true;  ///< true: NaN and Inf are refused
};

/// A memory space that can write its blocks into files itself.
class BlockWriter {
 public:
  BlockWriter(const BlockWriter&) = delete;
  BlockWriter(BlockWriter&&) = delete;
  BlockWriter& operator=(const BlockWriter&) = delete;
  BlockWriter& operator=(BlockWriter&&) = delete;

  /// Writes an n x a block into a file, waits for the disk and returns the CRC-32 of the bytes.
  /// Returns nothing if the file cannot be written from here; the caller then reads the numbers
  /// and writes them. Throws FileError, and NumericalError for NaN or Inf if these are refused.
  virtual std::optional<std::uint32_t> write_to_file(Index n,
                                                     const double* A,
                                                     Index a,
                                                     const FilePlace& place) const = 0;

 protected:
  BlockWriter() = default;
  ~BlockWriter() = default;
};

}  // namespace matapprox
