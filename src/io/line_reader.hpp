#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Cuts a text into pieces of whole lines, about 1 MB each, to be parsed in parallel. The cuts
/// depend only on the text.
inline std::vector<std::string_view> text_pieces(std::string_view text) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::vector<std::string_view> pieces;
  while (!text.empty()) {
    auto stop = text.size();
    if (stop > kPiece) {
      const auto line_end = text.find('\n', kPiece);
      if (line_end != std::string_view::npos) stop = line_end + 1;
    }
    pieces.push_back(text.substr(0, stop));
    text.remove_prefix(stop);
  }
  return pieces;
}

/// Returns the number of '\n' in a text. Counts in bytes, so that the compiler can vectorize it.
inline Index count_line_ends(std::string_view text) {
  constexpr std::size_t kLanes = 64;
  constexpr std::size_t kMaxRounds = 255;  // largest number in a byte
  Index total = 0;
  while (text.size() >= kLanes) {
    const std::size_t rounds =
        text.size() / kLanes < kMaxRounds ? text.size() / kLanes : kMaxRounds;
    std::array<std::uint8_t, kLanes> counts{};
    for (std::size_t round = 0; round < rounds; ++round) {
      const char* const p = text.data() + round * kLanes;
      for (std::size_t lane = 0; lane < kLanes; ++lane) counts[lane] += p[lane] == '\n' ? 1 : 0;
    }
    for (const std::uint8_t count : counts) total += count;
    text.remove_prefix(rounds * kLanes);
  }
  for (const char c : text) total += c == '\n' ? 1 : 0;
  return total;
}

/// Reads a text line by line; "\n" and "\r\n" both end a line, and the last line may have neither.
class LineReader {
 public:
  explicit LineReader(std::string_view text, std::size_t at = 0) : text_(text), next_(at) {}

  /// Moves to the next line; returns false at the end.
  bool advance() {
    if (next_ >= text_.size()) return false;
    start_ = next_;
    auto stop = text_.find('\n', start_);
    if (stop == std::string_view::npos) stop = text_.size();
    next_ = stop + 1;
    line_ = text_.substr(start_, stop - start_);
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    return true;
  }

  std::string_view line() const { return line_; }
  std::size_t start() const { return start_; }  ///< position of the line in the text
  std::size_t next() const { return next_ < text_.size() ? next_ : text_.size(); }

 private:
  std::string_view text_;
  std::string_view line_;
  std::size_t start_ = 0;
  std::size_t next_;
};

/// True for a character that separates fields within a line.
constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* skip_blanks(const char* p, const char* end) {
  while (p != end && is_blank(*p)) ++p;
  return p;
}

/// The line without blanks at either end.
inline std::string_view trimmed(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

/// The fields of a line between blanks.
inline std::vector<std::string_view> blank_separated(std::string_view line) {
  std::vector<std::string_view> fields;
  const char* const end = line.data() + line.size();
  for (const char* p = skip_blanks(line.data(), end); p != end; p = skip_blanks(p, end)) {
    const char* const field = p;
    while (p != end && !is_blank(*p)) ++p;
    fields.emplace_back(field, static_cast<std::size_t>(p - field));
  }
  return fields;
}

/// The text without a UTF-8 byte order mark.
inline std::string_view without_byte_order_mark(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  return text;
}

}  // namespace matapprox
