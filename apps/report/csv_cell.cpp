#include "report/csv_cell.hpp"

#include <charconv>
#include <string_view>

#include "matapprox/core/visible_text.hpp"

namespace matapprox::report {

namespace {

/// True if a spreadsheet would evaluate the cell.
bool is_formula(const std::string& text) {
  if (text.empty() || std::string_view("=+-@").find(text.front()) == std::string_view::npos) {
    return false;
  }
  double number = 0;
  const char* const start = text.data() + (text.front() == '+' ? 1 : 0);
  const char* const stop = text.data() + text.size();
  const auto [end, failure] = std::from_chars(start, stop, number);
  return failure != std::errc() || end != stop;
}

}  // namespace

std::string csv_cell(const std::string& text) {
  std::string cell = (is_formula(text) ? "'" : "") + visible_text(text);
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace matapprox::report
