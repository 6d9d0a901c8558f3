#include "io/text_input.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "core/large_pages.hpp"
#include "io/proportion.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox {
namespace {

constexpr std::size_t kStep = std::size_t{1} << 20;

/// Owner of a file descriptor; standard input stays open.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : value_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~Descriptor() {
    if (value_ > STDIN_FILENO) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int value() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail_system(const std::string& name, int code) {
  fail_in(name, fmt::format("cannot read: {}", std::generic_category().message(code)));
}

/// Expected number of bytes; 0 for a pipe.
std::size_t expected_size(int descriptor, const std::string& name) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0) fail_system(name, errno);
  if (S_ISDIR(facts.st_mode)) fail_in(name, "cannot read: it is a folder");
  return S_ISREG(facts.st_mode) ? static_cast<std::size_t>(facts.st_size) : 0;
}

/// True for a device that is neither a terminal nor /dev/null: reading it may never end.
bool is_endless(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || isatty(descriptor) != 0) return false;
  return S_ISBLK(facts.st_mode) ||
         (S_ISCHR(facts.st_mode) && facts.st_rdev != makedev(1, 3));  // 1, 3 is /dev/null
}

/// Makes room for at least one more byte.
void grow(InputBytes& bytes, const std::string& name) {
  const std::size_t larger = bytes.size() + std::max(kStep, bytes.size() / 2);
  // During resize, the old and the new buffer exist together.
  if (larger > 64 * kStep) require_memory(static_cast<double>(larger), name);
  bytes.resize(larger);
}

bool is_gzip(std::string_view bytes) { return bytes.substr(0, 2) == "\x1f\x8b"; }

/// Reads up to `count` bytes; returns 0 at the end.
std::size_t read_some(int descriptor, char* target, std::size_t count, const std::string& name) {
  for (;;) {
    const ssize_t got = read(descriptor, target, count);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_system(name, errno);
  }
}

InputBytes read_descriptor(int descriptor, const std::string& name, const StartCheck& check) {
  const std::size_t expected = expected_size(descriptor, name);
  if (!check && is_endless(descriptor)) fail_in(name, "cannot read: it is a device, not a file");
  if (expected > 64 * kStep) require_memory(static_cast<double>(expected), name);
  // A pipe has no size. The check runs before memory for all bytes is allocated.
  InputBytes bytes((expected == 0 ? kStep : std::min(expected, kStep)) + 1);
  std::size_t have = 0;
  bool checked = false;
  for (;;) {
    if (have == bytes.size() || have >= kStep) {
      if (!checked && check && !is_gzip({bytes.data(), have})) check({bytes.data(), have}, name);
      if (!checked && expected >= have) bytes.resize(expected + 1);
      checked = true;
      if (have == bytes.size()) grow(bytes, name);
    }
    const std::size_t got = read_some(descriptor, bytes.data() + have, bytes.size() - have, name);
    if (got == 0) break;
    have += got;
  }
  bytes.resize(have);
  if (!checked && check && !is_gzip(bytes)) check(bytes, name);
  return bytes;
}

/// State of zlib for one gzip stream.
class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOnly = 15 + 16;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw NotAvailable("zlib could not be started");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

[[noreturn]] void fail_inflated(const std::string& name, std::size_t limit) {
  fail_in(name,
          fmt::format("inflates to more than {} bytes, too much for its compressed size; if that "
                      "is correct, decompress it with gunzip first",
                      limit));
}

/// Inflates one member into `out` after the first `have` bytes; returns the number of compressed
/// bytes used.
std::size_t inflate_member(std::string_view in,
                           const std::string& name,
                           std::size_t limit,
                           const StartCheck& check,
                           InputBytes& out,
                           std::size_t& have) {
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::size_t used = 0;
  for (int code = Z_OK; code != Z_STREAM_END;) {
    if (have == out.size()) {
      if (have >= limit) fail_inflated(name, limit);
      if (have == kStep && check) check({out.data(), have}, name);
      grow(out, name);
    }
    const auto piece_in = std::min(in.size() - used, kStep);
    const auto piece_out = std::min(out.size() - have, kStep);
    stream.next_in =
        reinterpret_cast<Bytef*>(const_cast<char*>(in.data() + used));  // zlib only reads it
    stream.avail_in = static_cast<uInt>(piece_in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + have);
    stream.avail_out = static_cast<uInt>(piece_out);
    code = inflate(&stream, Z_NO_FLUSH);
    used += piece_in - stream.avail_in;
    have += piece_out - stream.avail_out;
    const bool stuck = code == Z_BUF_ERROR && used == in.size();
    if (stuck) fail_in(name, "the compressed data end too early");
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) {
      fail_in(name, fmt::format("damaged gzip data near byte {}", used));
    }
  }
  return used;
}

}  // namespace

InputBytes::InputBytes(std::size_t size)
    : data_(std::make_unique_for_overwrite<char[]>(size)), size_(size), capacity_(size) {
  prefer_large_pages(data_.get(), size);
}

void InputBytes::resize(std::size_t size) {
  if (size > capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(size);
    prefer_large_pages(larger.get(), size);
    if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
    data_ = std::move(larger);
    capacity_ = size;
  }
  size_ = size;
}

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

void require_text(std::string_view start, const std::string& name) {
  const std::size_t zero = start.find('\0');
  if (zero == std::string_view::npos) return;
  fail_at(name, start, zero, fmt::format("byte {} is zero: this is not text", zero));
}

InputBytes gunzip(std::string_view compressed,
                  const std::string& name,
                  std::optional<Index> most,
                  const StartCheck& check) {
  const double by_size = inflated_text_limit(static_cast<double>(compressed.size()));
  const auto limit = most ? static_cast<std::size_t>(*most) : static_cast<std::size_t>(by_size);
  InputBytes out;
  std::size_t have = 0;
  do {
    const std::size_t used = inflate_member(compressed, name, limit, check, out, have);
    compressed.remove_prefix(used);
  } while (is_gzip(compressed));
  // Zero bytes after the last member are padding; anything else is damage.
  if (compressed.find_first_not_of('\0') != std::string_view::npos) {
    fail_in(
        name,
        fmt::format("{} bytes that are not gzip follow the compressed data", compressed.size()));
  }
  if (have > limit) fail_inflated(name, limit);
  out.resize(have);
  if (have <= kStep && check) check(out, name);
  return out;
}

bool is_plain_file(const std::string& path) {
  // A pipe is not opened here: its writer would see it closed again.
  struct stat facts {};
  if (path == "-" || stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  const Descriptor descriptor(path);
  std::array<char, 2> start{};
  return descriptor.value() >= 0 && (pread(descriptor.value(), start.data(), start.size(), 0) < 2 ||
                                     !is_gzip({start.data(), start.size()}));
}

InputBytes read_all(const std::string& path, const StartCheck& check) {
  const std::string name = display_name(path);
  const Descriptor descriptor(path);
  if (descriptor.value() < 0) fail_system(name, errno);
  InputBytes bytes = read_descriptor(descriptor.value(), name, check);
  if (is_gzip(bytes)) return gunzip(bytes, name, {}, check);
  if (path.ends_with(".gz")) fail_in(name, "is named .gz but does not start with a gzip header");
  return bytes;
}

}  // namespace matapprox
