#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/measure/compare.hpp"

namespace matapprox {

struct ReportOptions {
  bool page = true;           ///< make the page
  bool plots = false;         ///< make the files
  bool is_image = false;      ///< the matrix is an image: shown in gray
  std::string command{};      ///< command line, for "how to repeat it"
  std::string kind{};         ///< kind as which the file was read, if not obvious
  double sweep_seconds = 60;  ///< time limit of the fits at other storage; 0: none
};

/// A file of a report: "error_storage.svg" and its bytes.
struct ReportFile {
  std::string name;
  std::string bytes;
};

struct Report {
  std::string html;  ///< one self-contained page: no script, nothing from the network
  std::vector<ReportFile> plots;
};

/// Names that Report::plots can have for these methods (empty: all), to be checked before the fits.
std::vector<std::string> report_plot_names(const std::vector<std::string>& methods);

/// Makes the report of a comparison: findings, singular values, error against storage and time,
/// heat maps, table, how to repeat it.
///
///   ComparisonReport report(A, options, {.command = "..."});
///   events.finished = [&](auto& row, const auto& result) { report.add(row, result); };
///   Comparison comparison = compare(A, options, control, events);
///   Report made = report.make(comparison, control, events);
///
/// A must outlive the report. Cost: add() computes all columns of the approximation and of A (a
/// sample of them above 64e6 entries); make() computes singular values by LAPACK up to order 2048
/// and up to four more fits per method within about sweep_seconds. Memory: 2 images of 512 x 512
/// numbers per method.
class ComparisonReport {
 public:
  ComparisonReport(const LinearOperator& A, ComparisonOptions options, ReportOptions report);
  ~ComparisonReport();
  ComparisonReport(const ComparisonReport&) = delete;
  ComparisonReport& operator=(const ComparisonReport&) = delete;

  /// Stores the data of a finished fit that the report shows.
  void add(const ComparisonRow& row, const RunResult& result);
  /// Calls events.started for the fits of the sweep; control.stop ends the sweep, and the report
  /// says so. Throws NotAvailable without gnuplot.
  Report make(const Comparison& comparison,
              const RunControl& control = {},
              const ComparisonEvents& events = {}) const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

}  // namespace matapprox
