#include "io/byte_stream.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "io/table_reader.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/run_control.hpp"

namespace matapprox {
namespace {

/// A Linux pipe holds 64 kB; larger reads save calls when a file is read.
constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr int kMillisecondsBetweenQuestions = 200;

[[noreturn]] void fail_stream(const std::string& name, int code) {
  fail_in(name, fmt::format("cannot read: {}", std::generic_category().message(code)));
}

/// Waits for bytes or for the end of the stream.
void wait_for_bytes(int descriptor) {
  for (;;) {
    throw_if_stop_requested();
    pollfd waiting{descriptor, POLLIN, 0};
    const int ready = poll(&waiting, 1, kMillisecondsBetweenQuestions);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return;  // read() reports errors
  }
}

}  // namespace

ByteStream::ByteStream(const std::string& path)
    : name_(display_name(path)),
      descriptor_(path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail_stream(name_, errno);
}

ByteStream::~ByteStream() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

std::string_view ByteStream::peek(Index count) {
  const auto wanted = static_cast<std::size_t>(count);
  if (end_ - begin_ < wanted && !ended_) fill(wanted);
  return {buffer_.data() + begin_, std::min(wanted, end_ - begin_)};
}

void ByteStream::advance(Index count) { begin_ += static_cast<std::size_t>(count); }

/// Reads until `count` bytes are in the buffer or the stream ends.
void ByteStream::fill(std::size_t count) {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  const std::size_t room = std::max(count, kReadBytes);
  if (buffer_.size() < room) {
    require_memory(static_cast<double>(room), name_);
    buffer_.resize(room);
  }
  while (end_ < count && !ended_) {
    wait_for_bytes(descriptor_);
    const ssize_t got = ::read(descriptor_, buffer_.data() + end_, buffer_.size() - end_);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_stream(name_, errno);
    ended_ = got == 0;
    end_ += static_cast<std::size_t>(got);
  }
}

}  // namespace matapprox
