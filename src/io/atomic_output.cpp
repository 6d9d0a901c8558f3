#include "io/atomic_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "matapprox/core/error.hpp"

namespace matapprox {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kPieceBytes = std::size_t{1} << 25;

[[noreturn]] void fail(const std::string& path, int code) {
  throw FileError(fmt::format("{}: cannot write: {}", path, std::generic_category().message(code)));
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// Forces a file or folder to disk; 0 or the errno.
int force_to_disk(const std::string& path, int flags) {
  const int descriptor = open(path.c_str(), flags | O_CLOEXEC);
  if (descriptor < 0) return errno;
  const int code = fsync(descriptor) == 0 ? 0 : errno;
  close(descriptor);
  return code;
}

/// Makes an empty file that was not there before, with the user's usual permissions.
std::string make_temporary_beside(const std::string& path) {
  static std::atomic<int> count{0};
  for (;;) {
    std::string name = fmt::format("{}.tmp-{}-{}", path, getpid(), count++);
    const int descriptor = open(name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      close(descriptor);
      return name;
    }
    if (errno != EEXIST) fail(path, errno);
  }
}

}  // namespace

AtomicOutput::AtomicOutput(std::string path) : path_(std::move(path)) {
  const fs::path folder = folder_of(path_);
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    throw FileError(fmt::format("{}: the folder '{}' does not exist", path_, folder.string()));
  }
  const auto existing = fs::status(path_, code);
  if (fs::exists(existing) && !fs::is_regular_file(existing)) {
    throw FileError(fmt::format("{}: exists and is not a regular file", path_));
  }
  temporary_ = make_temporary_beside(path_);
}

AtomicOutput::~AtomicOutput() {
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicOutput::write(std::string_view bytes) {
  const int descriptor = open(temporary_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor < 0) fail(path_, errno);
  int code = 0;
  off64_t done = 0;
  while (!bytes.empty() && code == 0) {
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), kPieceBytes));
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
      // On its way to the disk while the rest is copied; commit() waits for it.
      sync_file_range(descriptor, done, written, SYNC_FILE_RANGE_WRITE);
      done += written;
    } else if (errno != EINTR) {
      code = errno;
    }
  }
  if (close(descriptor) != 0 && code == 0) code = errno;
  if (code != 0) fail(path_, code);
}

void AtomicOutput::commit() {
  if (const int code = force_to_disk(temporary_, O_RDONLY); code != 0) fail(path_, code);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  committed_ = true;
  // Some file systems cannot fsync a folder; the file itself is safe by then.
  force_to_disk(folder_of(path_).string(), O_RDONLY | O_DIRECTORY);
}

}  // namespace matapprox
