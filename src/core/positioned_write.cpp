#include "core/positioned_write.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 25;
constexpr ssize_t kWorthStarting = ssize_t{1} << 20;

}  // namespace

int write_fully(int descriptor, std::uint64_t offset, std::string_view bytes) noexcept {
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

void throw_cannot_write(const std::string& path, int code) {
  throw FileError(fmt::format("{}: cannot write: {}", path, std::generic_category().message(code)));
}

}  // namespace matapprox
