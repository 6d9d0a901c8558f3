#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/comparison_page.hpp"
#include "report/findings.hpp"
#include "report/row_text.hpp"

namespace matapprox::report {
namespace {

TableCell method_cell(const ComparisonRow& row) {
  TableCell cell(shown_name(row.method));
  if (row.method != "as_is") cell.style = style_of(row.method);
  return cell;
}

TableCell notes_cell(const ComparisonRow& row) {
  TableCell cell(fmt::format("{}", fmt::join(row_notes(row), "; ")));
  cell.is_long = true;
  return cell;
}

std::vector<TableCell> result_cells(const ComparisonRow& row, const ComparisonRow* winner) {
  const std::string form =
      row.method == "as_is" ? row.form.substr(0, row.form.find_first_of(", ")) : row.form;
  if (!row.ok()) return {method_cell(row), form, "", "", "", "", "", "", "", notes_cell(row)};
  TableCell error(error_text(*row.measurement));
  error.emphasized = &row == winner;
  return {method_cell(row),
          form,
          row.rank ? fmt::format("{}", *row.rank) : "",
          grouped(row.storage->numbers),
          share_text(*row.storage_share),
          error,
          row.method == "as_is" ? "" : short_number(*row.fit_seconds),
          short_number(1e3 * row.measurement->apply_seconds_1),
          short_number(1e3 * row.measurement->apply_seconds_64),
          notes_cell(row)};
}

}  // namespace

Html results_table(const Comparison& comparison) {
  Table content;
  content.caption = "Methods by storage, error and time; " + comparison.basis;
  content.columns = {{"method"},
                     {"form"},
                     {"rank", true},
                     {"stored numbers", true},
                     {"share", true},
                     {"relative error", true},
                     {"fit, s", true},
                     {"1 column, ms", true},
                     {"64 columns, ms", true},
                     {"notes"}};
  const ComparisonRow* winner = winner_of(comparison);
  for (const ComparisonRow& row : comparison.rows)
    content.rows.push_back(result_cells(row, winner));
  return table(content);
}

}  // namespace matapprox::report
