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
constexpr ssize_t kWorthStarting = ssize_t{1} << 20;

[[noreturn]] void fail(const std::string& path, int code) {
  throw FileError(fmt::format("{}: cannot write: {}", path, std::generic_category().message(code)));
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// Some file systems cannot do it for a folder; the file itself is safe by then.
void force_folder_to_disk(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

/// Opens an empty file that was not there before, with the user's usual permissions, and names it.
int make_temporary_beside(const std::string& path, std::string& name) {
  static std::atomic<int> count{0};
  for (;;) {
    name = fmt::format("{}.tmp-{}-{}", path, getpid(), count++);
    const int descriptor = open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
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
  descriptor_ = make_temporary_beside(path_, temporary_);
}

AtomicOutput::~AtomicOutput() {
  close(descriptor_);
  if (!committed_) unlink(temporary_.c_str());
}

void AtomicOutput::write(std::string_view bytes) {
  resize(0);
  write_at(0, bytes);
  if (error_ != 0) fail(path_, error_);
}

void AtomicOutput::write_at(std::uint64_t offset, std::string_view bytes) noexcept {
  while (!bytes.empty() && error_ == 0) {
    const auto at = static_cast<off64_t>(offset);
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kPieceBytes), at);
    if (written >= 0) {
      // On its way to the disk while the rest is copied; commit() waits for it.
      if (written >= kWorthStarting)
        sync_file_range(descriptor_, at, written, SYNC_FILE_RANGE_WRITE);
      bytes.remove_prefix(static_cast<std::size_t>(written));
      offset += static_cast<std::uint64_t>(written);
      size_ = std::max(size_, offset);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
}

void AtomicOutput::read_at(std::uint64_t offset, char* bytes, std::size_t count) noexcept {
  while (count > 0 && error_ == 0) {
    const ssize_t done = pread(descriptor_, bytes, count, static_cast<off64_t>(offset));
    if (done == 0) break;
    if (done > 0) {
      bytes += done;
      offset += static_cast<std::uint64_t>(done);
      count -= static_cast<std::size_t>(done);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  std::fill_n(bytes, count, '\0');
}

void AtomicOutput::resize(std::uint64_t size) noexcept {
  if (error_ == 0 && ftruncate(descriptor_, static_cast<off64_t>(size)) != 0) error_ = errno;
  size_ = size;
}

void AtomicOutput::commit() {
  if (error_ == 0 && fsync(descriptor_) != 0) error_ = errno;
  if (error_ != 0) fail(path_, error_);
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(path_, errno);
  committed_ = true;
  force_folder_to_disk(folder_of(path_).string());
}

}  // namespace matapprox
