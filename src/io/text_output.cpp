#include "io/text_output.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 18;

[[noreturn]] void fail(const std::string& path, int code) {
  throw FileError(fmt::format("{}: cannot write: {}", path, std::generic_category().message(code)));
}

}  // namespace

TextOutput::TextOutput(const std::string& path)
    : output_(path), file_(std::fopen(output_.temporary_path().c_str(), "wb")) {
  if (file_ == nullptr) fail(path, errno);
}

TextOutput::~TextOutput() {
  if (file_ != nullptr) std::fclose(file_);
}

void TextOutput::write(std::string_view bytes) {
  if (bytes.size() < kBuffer) {
    pending_ += bytes;
    if (pending_.size() >= kBuffer) flush();
  } else {
    flush();
    write_through(bytes);
  }
}

void TextOutput::write(Index number) {
  std::array<char, 24> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  write({digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

void TextOutput::write(double number) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  write({digits.data(), static_cast<std::size_t>(result.ptr - digits.data())});
}

void TextOutput::flush() {
  write_through(pending_);
  pending_.clear();
}

void TextOutput::write_through(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size())
    fail(output_.path(), errno);
}

void TextOutput::finish() {
  flush();
  std::FILE* const file = file_;
  file_ = nullptr;
  if (std::fclose(file) != 0) fail(output_.path(), errno);
  output_.commit();
}

}  // namespace matapprox
