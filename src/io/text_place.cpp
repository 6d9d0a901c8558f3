#include <fmt/format.h>

#include <algorithm>

#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/error.hpp"

namespace matapprox {

Index line_number(std::string_view text, std::size_t at) {
  return 1 + count_line_ends(text.substr(0, std::min(at, text.size())));
}

void fail_at(const std::string& name,
             std::string_view text,
             std::size_t at,
             const std::string& what,
             Misfit misfit) {
  fail_at_line(name, line_number(text, at), what, misfit);
}

void fail_at_line(const std::string& name, Index line, const std::string& what, Misfit misfit) {
  const std::string message = fmt::format("{}:{}: {}", name, line, what);
  if (misfit == Misfit::kNotFinite) throw NumericalError(message);
  throw FileError(message);
}

void fail_not_finite(const std::string& name, Index row, Index col, double value) {
  throw NumericalError(
      fmt::format("{}: row {}, column {}, counted from 1: {} is not allowed; values must be finite",
                  name,
                  row + 1,
                  col + 1,
                  value));
}

void fail_in(const std::string& name, const std::string& what) {
  throw FileError(fmt::format("{}: {}", name, what));
}

std::string in_quotes(std::string_view piece) {
  constexpr std::size_t kMax = 40;
  std::string text = "'";
  for (const char c : piece.substr(0, kMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 32 && byte < 127) {
      text += c;
    } else {
      text += fmt::format("\\x{:02x}", byte);
    }
  }
  return text + (piece.size() > kMax ? "'..." : "'");
}

std::string_view token_at(std::string_view text, std::size_t at, std::string_view separators) {
  std::size_t stop = at;
  while (stop < text.size() &&
         std::string_view(" \t\r\n").find(text[stop]) == std::string_view::npos &&
         separators.find(text[stop]) == std::string_view::npos) {
    ++stop;
  }
  return text.substr(at, stop - at);
}

}  // namespace matapprox
