#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "report/comparison_page.hpp"
#include "report/terminal_table.hpp"

namespace matapprox {
namespace {

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : std::string();
}

std::string flag(bool value) { return value ? "true" : "false"; }

std::vector<std::string> measured_cells(const std::optional<Measurement>& measured) {
  if (!measured) return std::vector<std::string>(9);
  const auto& interval = measured->error_interval;
  return {fmt::format("{}", measured->error_frobenius),
          text_of(measured->relative_error),
          flag(measured->error_is_exact),
          interval ? fmt::format("{}", interval->first) : "",
          interval ? fmt::format("{}", interval->second) : "",
          text_of(measured->spectral_error_lower),
          text_of(measured->apply_seconds_1),
          text_of(measured->apply_seconds_64),
          flag(measured->worse_than_zero)};
}

std::vector<std::string> certified_cells(const std::optional<Measurement>& measured) {
  std::vector<std::string> cells;
  const Certificate none;
  const Certificate& certificate =
      measured && measured->certificate ? *measured->certificate : none;
  for (const auto& bound : {certificate.frobenius, certificate.spectral}) {
    cells.push_back(bound ? fmt::format("{}", bound->value) : "");
    cells.push_back(bound ? fmt::format("{}", bound->confidence) : "");
  }
  return cells;
}

std::string line_of(const ComparisonRow& row) {
  std::vector<std::string> cells = {report::csv_cell(row.method),
                                    report::csv_cell(row.status),
                                    report::csv_cell(row.form),
                                    text_of(row.rank),
                                    row.storage ? fmt::format("{}", row.storage->numbers) : "",
                                    row.storage ? fmt::format("{}", row.storage->bytes) : "",
                                    text_of(row.storage_share),
                                    row.storage_precision};
  const std::vector<std::string> measured = measured_cells(row.measurement);
  cells.insert(cells.end(), measured.begin(), measured.end());
  cells.push_back(text_of(row.fit_seconds));
  cells.push_back(text_of(row.passes));
  cells.push_back(text_of(row.peak_memory_bytes));
  cells.push_back(row.termination ? std::string(enum_name(*row.termination)) : "");
  cells.push_back(flag(row.interrupted));
  const std::vector<std::string> certified = certified_cells(row.measurement);
  cells.insert(cells.end(), certified.begin(), certified.end());
  return fmt::format("{}\n", fmt::join(cells, ","));
}

}  // namespace

std::string comparison_csv(const Comparison& comparison) {
  std::string text =
      "method,status,form,rank,stored_numbers,stored_bytes,storage_share,storage_precision,error_"
      "frobenius,"
      "relative_error,error_is_exact,error_interval_low,error_interval_high,spectral_error_lower,"
      "apply_seconds_1,apply_seconds_64,worse_than_zero,fit_seconds,passes,peak_memory_bytes,"
      "termination,"
      "interrupted,certificate_frobenius,certificate_frobenius_confidence,certificate_spectral,"
      "certificate_spectral_confidence\n";
  for (const ComparisonRow& row : comparison.rows) text += line_of(row);
  return text;
}

}  // namespace matapprox
