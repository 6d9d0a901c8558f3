#include "command_line/config_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

#include "matapprox/core/error.hpp"
#include "matapprox/core/types.hpp"
#include "matapprox/core/visible_text.hpp"

namespace matapprox::app {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

/// Position of the comment in a line, or the length of the line if it has none; npos if a quotation
/// does not end on the line.
std::size_t start_of_comment(std::string_view line) {
  char quote = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '#') {
      return at;
    } else if (c == '"' || c == '\'') {
      quote = c;
    }
  }
  return quote == 0 ? line.size() : std::string_view::npos;
}

/// The length of the first value: a word, a quotation, or a list in brackets.
std::size_t length_of_value(std::string_view text) {
  const char first = text.front();
  if (first == '[') return text.find(']') + 1;
  if (first == '"' || first == '\'') return text.find(first, 1) + 1;
  return std::min(text.find_first_of(" \t[]\"'"), text.size());
}

/// Defect of a line, worded to follow the line's text in a message; empty if there is none.
std::string misfit_of(std::string_view line) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 && c != '\t'; };
  if (std::any_of(line.begin(), line.end(), is_control)) return "has a control character";
  const std::size_t comment = start_of_comment(line);
  if (comment == std::string_view::npos) return "has a quoted string that does not end on its line";
  line = without_blanks(line.substr(0, comment));
  if (line.empty()) return "";
  if (line.front() == '[') return line.find(']') + 1 == line.size() ? "" : "is not a table header";
  const std::size_t sign = line.find('=');
  const std::string_view name = without_blanks(line.substr(0, sign));
  if (sign == std::string_view::npos || name.empty() ||
      name.find_first_of(" \t\"'[]") != std::string_view::npos) {
    return "is not `option = value`, [table] or # comment";
  }
  const std::string_view value = without_blanks(line.substr(sign + 1));
  if (value.empty()) return "has no value";
  return length_of_value(value) == value.size()
             ? ""
             : "has several values, or unbalanced brackets; write a list as [a, b]";
}

std::string read_options(const std::string& path) {
  constexpr std::size_t kMost = std::size_t{1} << 20;
  const auto fail = [&](const std::string& what) {
    throw FileError(fmt::format("{}: {}", path, what));
  };
  errno = 0;
  std::ifstream file(path);
  if (!file) fail("cannot be opened: " + std::generic_category().message(errno));
  std::string text(kMost + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) fail("cannot be read: " + std::generic_category().message(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.find('\0') != std::string::npos) fail("contains zero bytes; it is not a text file");
  if (text.size() > kMost) fail(fmt::format("has more than {} bytes of options", kMost));
  return text;
}

}  // namespace

std::string config_text(const std::string& path) {
  std::string text = read_options(path);
  std::istringstream lines(text);
  Index number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::string_view trimmed = without_blanks(line);
    const std::string misfit = misfit_of(trimmed);
    if (misfit.empty()) continue;
    throw InvalidArgument(
        fmt::format("{}:{}: '{}' {}", path, number, visible_text(trimmed.substr(0, 60)), misfit));
  }
  return text;
}

}  // namespace matapprox::app
