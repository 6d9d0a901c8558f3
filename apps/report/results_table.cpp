#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/comparison_page.hpp"
#include "report/findings.hpp"

namespace matapprox::report {
namespace {

TableCell method_cell(const ComparisonRow& row) {
  TableCell cell(shown_name(row.method));
  if (row.method != "as_is") cell.style = style_of(row.method);
  return cell;
}

/// The error in four digits, "~" in front of an estimate.
std::string error_cell(const Measurement& measured) {
  if (!measured.relative_error) return "–";
  return (measured.error_is_exact ? "" : "~") + rounded_digits(*measured.relative_error, 4);
}

bool has_certificates(const Comparison& comparison) {
  return std::any_of(comparison.rows.begin(), comparison.rows.end(), [](const ComparisonRow& row) {
    return row.measurement && row.measurement->certificate;
  });
}

/// The bound in the requested norm, with its confidence.
std::string certificate_cell(const ComparisonRow& row) {
  if (!row.measurement || !row.measurement->certificate) return "–";
  const Certificate& certificate = *row.measurement->certificate;
  const bool spectral = certificate.norm == CertifiedNorm::kSpectral;
  const auto& bound = spectral ? certificate.spectral : certificate.frobenius;
  if (!bound) return "–";
  return fmt::format("{} ({}, {})",
                     rounded_digits(bound->value, 4),
                     spectral ? "spectral" : "Frobenius",
                     confidence_text(*bound));
}

std::vector<TableCell> result_cells(const ComparisonRow& row, const ComparisonRow* winner) {
  const std::string form =
      row.method == "as_is" ? row.form.substr(0, row.form.find_first_of(", ")) : row.form;
  if (!row.ok()) return {method_cell(row), "no result", "–", "–", "–", form, "–", "–", "–"};
  TableCell error(error_cell(*row.measurement));
  error.emphasized = &row == winner;
  return {method_cell(row),
          error,
          grouped(row.storage->numbers),
          share_text(*row.storage_share),
          row.rank ? fmt::format("{}", *row.rank) : "–",
          form,
          row.method == "as_is" ? "–" : short_number(*row.fit_seconds),
          milliseconds_text(row.measurement->apply_seconds_1),
          milliseconds_text(row.measurement->apply_seconds_64)};
}

}  // namespace

Html results_table(const Comparison& comparison) {
  Table content;
  content.caption = "Methods by error, storage and time";
  content.columns = {{"method", false},
                     {"relative error", true},
                     {"stored numbers", true},
                     {"share", true},
                     {"rank", true},
                     {"form", false},
                     {"fit, s", true},
                     {"1 column, ms", true},
                     {"64 columns, ms", true}};
  const ComparisonRow* winner = winner_of(comparison);
  const bool certified = has_certificates(comparison);
  if (certified) content.columns.push_back({"certified |A − B|, at most", false});
  for (const ComparisonRow& row : comparison.rows) {
    content.rows.push_back(result_cells(row, winner));
    if (certified) content.rows.back().emplace_back(certificate_cell(row));
  }
  return table(content);
}

Html results_notes(const Comparison& comparison) {
  std::vector<std::string> notes;
  for (const ComparisonRow& row : comparison.rows) {
    const std::vector<std::string> own = row_notes(row);
    if (!own.empty())
      notes.push_back(fmt::format("{}: {}", shown_name(row.method), fmt::join(own, "; ")));
  }
  return notes.empty() ? Html{} : bullet_list(notes);
}

}  // namespace matapprox::report
