#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "report/comparison_page.hpp"
#include "report/findings.hpp"
#include "report/terminal_table.hpp"

namespace matapprox {
namespace {

using report::error_text;
using report::matrix_text;
using report::milliseconds_text;
using report::row_notes;
using report::share_text;
using report::short_number;
using report::terminal_table;
using report::TerminalColumn;
using report::wrapped;

constexpr TerminalColumn kColumns[] = {
    {"method", 13, true},
    {"form", 9, true, true},
    {"rank", 4, false},
    {"numbers", 7, false},
    {"bytes", 7, false},
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

/// The form as one short word. The as_is row has a full description, which is shown above the
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
  cells[4] = fmt::format("{}", row.storage->bytes);
  cells[5] = share_text(*row.storage_share);
  cells[7] = row.method == "as_is" ? "-" : short_number(*row.fit_seconds);
  if (!row.measurement) return cells;
  cells[6] = error_text(*row.measurement);
  cells[8] = milliseconds_text(row.measurement->apply_seconds_1);
  cells[9] = milliseconds_text(row.measurement->apply_seconds_64);
  return cells;
}

std::string heading(const Comparison& comparison) {
  return wrapped(matrix_text(comparison.facts, comparison.path), 2) + wrapped(comparison.basis, 2);
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

  const std::string table = heading(comparison) + "\n" + terminal_table(kColumns, lines);
  return notes.empty() ? table : table + "\n" + notes;
}

}  // namespace matapprox
