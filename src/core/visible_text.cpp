#include "matapprox/core/visible_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace matapprox {
namespace {

unsigned byte_at(std::string_view text, std::size_t at) {
  return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
}

/// Code point of the legal sequence of `length` bytes at `at`.
unsigned code_point(std::string_view text, std::size_t at, std::size_t length) {
  unsigned code = byte_at(text, at);
  if (length > 1) code &= 0x7FU >> length;
  for (std::size_t i = 1; i < length; ++i) code = code << 6U | (byte_at(text, at + i) & 0x3FU);
  return code;
}

bool is_control(unsigned code) {
  const bool reverses = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
  const bool separates = code == 0x2028 || code == 0x2029;
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || reverses || separates;
}

std::string escape_of(unsigned code) {
  switch (code) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\u{:04x}", code);
  }
}

/// Escapes illegal bytes, and the code points for which `is_escaped` returns true.
template <class IsEscaped>
std::string escaped_text(std::string_view text, const IsEscaped& is_escaped) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length == 0) {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte_at(text, at));
    } else if (const unsigned code = code_point(text, at, length); is_escaped(code)) {
      result += escape_of(code);
    } else {
      result += text.substr(at, length);
    }
    at += std::max<std::size_t>(length, 1);
  }
  return result;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (at >= text.size() || (first >= 0x80 && first < 0xC2) || first > 0xF4) return 0;
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, at + i) & 0xC0U) != 0x80U) return 0;
  }
  const unsigned second = byte_at(text, at + 1);
  const bool illegal = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
                       (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return illegal ? 0 : length;
}

std::string visible_text(std::string_view text) { return escaped_text(text, is_control); }

std::string visible_lines(std::string_view text) {
  return escaped_text(
      text, [](unsigned code) { return is_control(code) && code != '\n' && code != '\t'; });
}

std::string legal_utf8(std::string_view text) {
  return escaped_text(text, [](unsigned /*code*/) { return false; });
}

}  // namespace matapprox
