#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "report/comparison.hpp"
#include "report/row_text.hpp"

namespace matapprox {
namespace {

using report::averaging_note;
using report::error_text;
using report::milliseconds_text;
using report::row_notes;
using report::share_text;
using report::short_number;

constexpr std::size_t kWidth = 100;

struct Column {
  std::string_view title;
  std::size_t min_width;
  bool left;
};
constexpr Column kColumns[] = {
    {"method", 13, true},
    {"form", 9, true},
    {"rank", 4, false},
    {"numbers", 7, false},
    {"share", 6, false},
    {"rel. error", 10, false},
    {"fit s", 7, false},
    {"ms x1", 7, false},
    {"ms x64", 7, false},
    {"note", 4, true},
};
constexpr std::size_t kColumnCount = std::size(kColumns);

std::string shown_method(const ComparisonRow& row) {
  return row.method == "truncated_svd_symmetric" ? "truncated_svd" : row.method;
}

/// The form as one short word; the as_is row has a whole description instead, shown above the
/// table.
std::string shown_form(const ComparisonRow& row) {
  if (row.method == "as_is") return row.form.substr(0, row.form.find_first_of(", "));
  return row.form;
}

std::vector<std::string> cells_of(const ComparisonRow& row) {
  std::vector<std::string> cells(kColumnCount, "-");
  cells[0] = shown_method(row);
  cells[1] = shown_form(row).empty() ? "-" : shown_form(row);
  if (!row.ok()) return cells;
  if (row.rank) cells[2] = fmt::format("{}", *row.rank);
  cells[3] = fmt::format("{}", row.storage->numbers);
  cells[4] = share_text(*row.storage_share);
  cells[6] = row.method == "as_is" ? "-" : short_number(*row.fit_seconds);
  if (!row.measurement) return cells;
  cells[5] = error_text(*row.measurement);
  cells[7] = milliseconds_text(row.measurement->apply_seconds_1);
  cells[8] = milliseconds_text(row.measurement->apply_seconds_64);
  return cells;
}

/// `text` in lines of at most kWidth characters, the second and later ones indented.
std::string wrapped(std::string text, std::size_t indent) {
  std::string result;
  while (text.size() > kWidth) {
    std::size_t blank = text.rfind(' ', kWidth);
    if (blank == std::string::npos || blank <= indent) blank = kWidth;
    result += text.substr(0, blank) + "\n";
    text = std::string(indent, ' ') + text.substr(text.find_first_not_of(' ', blank));
  }
  return result + text + "\n";
}

/// Column widths, the form's cut where a line would pass kWidth with single blanks in between.
struct Layout {
  std::vector<std::size_t> widths;
  std::string gap = "  ";
};

Layout layout_of(const std::vector<std::vector<std::string>>& lines) {
  Layout layout;
  std::size_t total = 0;
  for (std::size_t c = 0; c < kColumnCount; ++c) {
    std::size_t width = std::max(kColumns[c].min_width, kColumns[c].title.size());
    for (const auto& line : lines) width = std::max(width, line[c].size());
    layout.widths.push_back(width);
    total += width;
  }
  if (total + 2 * (kColumnCount - 1) > kWidth) layout.gap = " ";
  const std::size_t length = total + layout.gap.size() * (kColumnCount - 1);
  if (length > kWidth) layout.widths[1] -= std::min(layout.widths[1], length - kWidth);
  return layout;
}

std::string line_of(const std::vector<std::string>& cells, const Layout& layout) {
  std::string line;
  for (std::size_t c = 0; c < kColumnCount; ++c) {
    const std::string text = cells[c].substr(0, layout.widths[c]);
    line += kColumns[c].left ? fmt::format("{:<{}}", text, layout.widths[c])
                             : fmt::format("{:>{}}", text, layout.widths[c]);
    line += layout.gap;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string heading(const Comparison& comparison) {
  const MatrixFacts& facts = comparison.facts;
  std::string text = fmt::format("{}: {} x {}", comparison.path, facts.rows, facts.cols);
  if (facts.nonzeros) text += fmt::format(", {} nonzeros", *facts.nonzeros);
  text += facts.symmetric ? ", symmetric" + averaging_note(facts) : "";
  text += fmt::format(", |A|_F {} {:.6g}", facts.norm_is_exact ? "=" : "~", facts.frobenius_norm);
  return wrapped(text, 2) + wrapped(comparison.basis, 2);
}

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  std::vector<std::vector<std::string>> lines;
  std::string notes;
  std::size_t note_count = 0;
  for (const ComparisonRow& row : comparison.rows) {
    lines.push_back(cells_of(row));
    std::string joined;
    for (const std::string& note : row_notes(row)) joined += (joined.empty() ? "" : "; ") + note;
    lines.back().back() = joined.empty() ? "" : fmt::format("[{}]", ++note_count);
    if (!joined.empty())
      notes += wrapped(fmt::format("[{}] {}: {}", note_count, row.method, joined), 4);
  }

  std::vector<std::string> titles;
  for (const Column& column : kColumns) titles.emplace_back(column.title);
  const Layout layout = layout_of(lines);
  std::string table = heading(comparison) + "\n" + line_of(titles, layout);
  for (const auto& line : lines) table += line_of(line, layout);
  return notes.empty() ? table : table + "\n" + notes;
}

}  // namespace matapprox
