#include "report/terminal_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "matapprox/core/visible_text.hpp"

namespace matapprox::report {
namespace {

/// The largest length up to `bytes` that cuts no UTF-8 sequence.
std::size_t whole_sequences(std::string_view text, std::size_t bytes) {
  if (bytes >= text.size()) return text.size();
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U) --bytes;
  return bytes;
}

struct TerminalLayout {
  std::vector<std::size_t> widths;
  std::string gap = "  ";
};

TerminalLayout layout_of(std::span<const TerminalColumn> columns,
                         const std::vector<std::vector<std::string>>& rows) {
  TerminalLayout layout;
  std::size_t total = 0;
  std::size_t cut = columns.size();
  for (std::size_t c = 0; c < columns.size(); ++c) {
    std::size_t width = std::max(columns[c].min_width, columns[c].title.size());
    for (const auto& row : rows) width = std::max(width, row[c].size());
    layout.widths.push_back(width);
    total += width;
    if (columns[c].may_cut) cut = c;
  }
  if (total + 2 * (columns.size() - 1) > kTerminalWidth) layout.gap = " ";
  const std::size_t length = total + layout.gap.size() * (columns.size() - 1);
  if (length > kTerminalWidth && cut < columns.size())
    layout.widths[cut] -= std::min(layout.widths[cut], length - kTerminalWidth);
  return layout;
}

std::string line_of(std::span<const TerminalColumn> columns,
                    const std::vector<std::string>& cells,
                    const TerminalLayout& layout) {
  std::string line;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    const std::string text = cells[c].substr(0, whole_sequences(cells[c], layout.widths[c]));
    line += columns[c].left ? fmt::format("{:<{}}", text, layout.widths[c])
                            : fmt::format("{:>{}}", text, layout.widths[c]);
    line += layout.gap;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace

std::string terminal_table(std::span<const TerminalColumn> columns,
                           std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = visible_text(cell);
  }
  std::vector<std::string> titles;
  for (const TerminalColumn& column : columns) titles.emplace_back(column.title);
  const TerminalLayout layout = layout_of(columns, rows);
  std::string table = line_of(columns, titles, layout);
  for (const auto& row : rows) table += line_of(columns, row, layout);
  return table;
}

std::string wrapped(const std::string& paragraph, std::size_t indent) {
  std::string text = visible_text(paragraph);
  text.erase(text.find_last_not_of(' ') + 1);
  std::string result;
  while (text.size() > kTerminalWidth) {
    std::size_t blank = text.rfind(' ', kTerminalWidth);
    if (blank == std::string::npos || blank <= indent)
      blank = whole_sequences(text, kTerminalWidth);
    result += text.substr(0, blank) + "\n";
    text = std::string(indent, ' ') + text.substr(text.find_first_not_of(' ', blank));
  }
  return result + text + "\n";
}

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
