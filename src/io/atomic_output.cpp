#include "matapprox/io/atomic_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "io/positioned_write.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {

namespace fs = std::filesystem;

namespace {

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

/// Ignores errors: some file systems cannot sync a folder, and the file itself is safe by then.
void force_folder_to_disk(const std::string& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

/// Returns the name `start` + `end` in the folder of `path`. Truncates `start` if the name would be
/// longer than file systems allow.
std::string name_beside(const std::string& path, const std::string& start, const std::string& end) {
  constexpr std::size_t kLongestName = 255;
  const std::size_t room = kLongestName - std::min(kLongestName, end.size());
  return (fs::path(path).parent_path() / (start.substr(0, room) + end)).string();
}

/// Creates and opens a new, empty file with the user's usual permissions, and sets `name`.
int make_temporary_beside(const std::string& path, std::string& name) {
  static std::atomic<int> count{0};
  const std::string start = fs::path(path).filename().string();
  for (;;) {
    name = name_beside(path, start, fmt::format(".tmp-{}-{}", getpid(), count++));
    const int descriptor = open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor >= 0) return descriptor;
    if (errno != EEXIST) throw_cannot_write(path, errno);
  }
}

/// out.1.h5 for out.h5: keeps the extension, which determines the format.
std::string numbered_name(const std::string& path, int number) {
  const fs::path whole(path);
  const std::string end = fmt::format(".{}{}", number, whole.extension().string());
  return name_beside(path, whole.stem().string(), end);
}

bool is_unknown_way(int code) {
  return code == EINVAL || code == ENOSYS || code == EOPNOTSUPP || code == EPERM || code == EMLINK;
}

bool claim_name(const std::string& from, const std::string& to) {
  const int claim = open(to.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
  if (claim < 0) return false;
  close(claim);
  if (std::rename(from.c_str(), to.c_str()) == 0) return true;
  const int code = errno;
  unlink(to.c_str());
  errno = code;
  return false;
}

/// Renames in this way, unless `to` exists. Returns false and sets errno on failure.
bool gets_name(const std::string& from, const std::string& to, NamingWay way) {
  switch (way) {
    case NamingWay::kRename:
      return renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0;
    case NamingWay::kLink:
      if (link(from.c_str(), to.c_str()) != 0) return false;
      unlink(from.c_str());
      return true;
    case NamingWay::kClaim:
      break;
  }
  return claim_name(from, to);
}

/// Renames in the first way that the file system supports.
bool rename_if_free(const std::string& from, const std::string& to) {
  constexpr std::array<NamingWay, 2> kBetterWays{NamingWay::kRename, NamingWay::kLink};
  for (const NamingWay way : kBetterWays) {
    if (const std::optional<bool> done = matapprox::rename_if_free(from, to, way)) return *done;
  }
  return matapprox::rename_if_free(from, to, NamingWay::kClaim).value_or(false);
}

/// An output that does not replace files of other programs.
struct CarefulOutput {
  std::string place;  ///< path of its latest version; empty if there is none yet
  dev_t device = 0;   ///< device and inode of that version
  ino_t inode = 0;
  int descriptor = -1;  ///< open file of that version, so that no other file gets its inode
};

bool is_still_there(const CarefulOutput& output) {
  struct stat found {};
  return !output.place.empty() && lstat(output.place.c_str(), &found) == 0 &&
         found.st_dev == output.device && found.st_ino == output.inode;
}

struct CarefulOutputs {
  std::mutex mutex;
  std::map<std::string, CarefulOutput> by_path;
};

CarefulOutputs& careful_outputs() {
  static CarefulOutputs outputs;
  return outputs;
}

/// Number of slots for names of temporary files. A signal handler reads them, which can neither
/// lock nor allocate. More outputs at a time than this are not recorded.
constexpr std::size_t kPlaces = 64;

std::array<std::atomic<const char*>, kPlaces>& unfinished_outputs() {
  static std::array<std::atomic<const char*>, kPlaces> names{};
  return names;
}

/// Records the name. Returns its slot, or kPlaces if all are taken.
std::size_t add_unfinished(const std::string& name) {
  auto& names = unfinished_outputs();
  for (std::size_t place = 0; place < kPlaces; ++place) {
    const char* expected = nullptr;
    if (names[place].compare_exchange_strong(expected, name.c_str())) return place;
  }
  return kPlaces;
}

}  // namespace

void remove_unfinished_outputs() noexcept {
  for (const std::atomic<const char*>& place : unfinished_outputs()) {
    if (const char* const name = place) unlink(name);
  }
}

std::optional<bool> rename_if_free(const std::string& from, const std::string& to, NamingWay way) {
  if (gets_name(from, to, way)) return true;
  if (errno == EEXIST) return false;
  if (way != NamingWay::kClaim && is_unknown_way(errno)) return std::nullopt;
  throw_cannot_write(to, errno);
}

void keep_foreign_files(const std::string& path) {
  CarefulOutputs& outputs = careful_outputs();
  const std::lock_guard lock(outputs.mutex);
  outputs.by_path.try_emplace(path);
}

std::string actual_output_path(const std::string& path) {
  CarefulOutputs& outputs = careful_outputs();
  const std::lock_guard lock(outputs.mutex);
  const auto found = outputs.by_path.find(path);
  return found == outputs.by_path.end() || found->second.place.empty() ? path : found->second.place;
}

std::vector<DisplacedOutput> displaced_outputs() {
  CarefulOutputs& outputs = careful_outputs();
  const std::lock_guard lock(outputs.mutex);
  std::vector<DisplacedOutput> displaced;
  for (const auto& [path, output] : outputs.by_path) {
    if (!output.place.empty() && output.place != path) displaced.push_back({path, output.place});
  }
  return displaced;
}

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
  place_ = add_unfinished(temporary_);
}

AtomicOutput::~AtomicOutput() {
  close(descriptor_);
  if (!committed_) unlink(temporary_.c_str());
  if (place_ < kPlaces) unfinished_outputs()[place_] = nullptr;
}

void AtomicOutput::write(std::string_view bytes) {
  resize(0);
  write_at(0, bytes);
  throw_if_failed();
}

void AtomicOutput::write_at(std::uint64_t offset, std::string_view bytes) noexcept {
  if (error_ != 0 || bytes.empty()) return;
  error_ = write_fully(descriptor_, offset, bytes);
  size_ = std::max(size_, offset + bytes.size());
}

void AtomicOutput::read_at(std::uint64_t offset, char* bytes, std::size_t count) noexcept {
  // Works after a failed write too: earlier bytes are there.
  while (count > 0) {
    const ssize_t done = pread(descriptor_, bytes, count, static_cast<off64_t>(offset));
    if (done == 0) break;
    if (done > 0) {
      bytes += done;
      offset += static_cast<std::uint64_t>(done);
      count -= static_cast<std::size_t>(done);
    } else if (errno != EINTR) {
      if (error_ == 0) error_ = errno;
      break;
    }
  }
  std::fill_n(bytes, count, '\0');
}

void AtomicOutput::resize(std::uint64_t size) noexcept {
  if (error_ == 0 && ftruncate(descriptor_, static_cast<off64_t>(size)) != 0) error_ = errno;
  size_ = size;
}

void AtomicOutput::throw_if_failed() const {
  if (error_ != 0) throw_cannot_write(path_, error_);
}

void AtomicOutput::commit() {
  if (error_ == 0 && fsync(descriptor_) != 0) error_ = errno;
  throw_if_failed();
  take_name();
  committed_ = true;
  force_folder_to_disk(folder_of(path_).string());
}

void AtomicOutput::take_name() {
  CarefulOutputs& outputs = careful_outputs();
  const std::lock_guard lock(outputs.mutex);
  const auto careful = outputs.by_path.find(path_);
  const bool replaces = careful == outputs.by_path.end() || is_still_there(careful->second);
  std::string place = path_;
  if (replaces) {
    if (careful != outputs.by_path.end()) place = careful->second.place;
    if (std::rename(temporary_.c_str(), place.c_str()) != 0) throw_cannot_write(path_, errno);
  } else {
    for (int number = 1; !rename_if_free(temporary_, place); ++number)
      place = numbered_name(path_, number);
  }
  if (careful == outputs.by_path.end()) return;
  struct stat written {};
  if (fstat(descriptor_, &written) != 0) throw_cannot_write(path_, errno);
  if (careful->second.descriptor >= 0) close(careful->second.descriptor);
  const int held = fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
  careful->second = {place, written.st_dev, written.st_ino, held};
}

}  // namespace matapprox
