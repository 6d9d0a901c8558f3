#pragma once

#include <string_view>
#include <vector>

namespace matapprox {

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
