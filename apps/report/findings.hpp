#pragma once

#include <optional>
#include <string>
#include <vector>

#include "matapprox/measure/compare.hpp"
#include "report/heat_map.hpp"

namespace matapprox::report {

/// Findings of a comparison, one sentence each, the most important first: the winner and its lead,
/// whether the matrix as it is takes less, methods without compression, failures.
std::vector<std::string> findings_of(const Comparison& comparison);

/// The row with the least error or, in a comparison by target error, with the least storage; null
/// if there is none. The matrix as it is does not take part.
const ComparisonRow* winner_of(const Comparison& comparison);

/// "0.0503", or "about 0.0503" for an estimate.
std::string spoken_error(const Measurement& measured);

/// Data of a fit that a report shows besides its row.
struct FitRecord {
  std::string method;
  Matrix cells;     ///< image of the approximation
  Matrix residual;  ///< image of A minus the approximation
  std::vector<HistoryPoint> history;
};

/// Collects the records of a comparison while it runs, so that no approximation has to be stored.
class FitRecords {
 public:
  FitRecords(const LinearOperator& A, bool is_image)
      : A_(A), plan_(image_plan(A.rows(), A.cols(), is_image)) {}

  void add(const ComparisonRow& row, const RunResult& result);

  const std::vector<FitRecord>& all() const { return records_; }
  const FitRecord* find(const std::string& method) const;
  const ImagePlan& plan() const { return plan_; }
  /// Singular values of the truncated SVD of the largest rank that ran; empty without one.
  const Vector& singular_values() const { return singular_values_; }

 private:
  const LinearOperator& A_;
  ImagePlan plan_;
  std::vector<FitRecord> records_;
  Vector singular_values_;
};

/// The diagonal of a truncated SVD, as absolute values in descending order.
Vector singular_values_of(const Approximation& svd);

// Formats of the figures of a row, shared by the table of the terminal and that of a page.

/// Three significant digits in at most seven characters, without an exponent where that is
/// readable.
std::string short_number(double value);
/// Time in milliseconds; "-" if it was not measured.
std::string milliseconds_text(const std::optional<double>& seconds);
/// The relative error, "~" in front of an estimate; "-" if there is none.
std::string error_text(const Measurement& measured);
/// Sample of an estimate: "64 vectors", "256 columns".
std::string sample_text(const Measurement& measured);
/// "2.2 %"
std::string share_text(double share);
/// "confidence 99 %", or "exact" if the bound is the norm itself.
std::string confidence_text(const CertifiedBound& bound);
/// "certified |A - B|_F <= 0.1234 (confidence 99 %), |A - B|_2 <= ...".
std::string certificate_text(const Certificate& certificate);
/// Addition to "symmetric" for a matrix that is symmetric only up to rounding.
std::string rounding_note(const MatrixFacts& facts);
/// "mesh.mtx: 64 x 64, 288 nonzeros, symmetric, |A|_F = 35.1".
std::string matrix_text(const MatrixFacts& facts, const std::string& path);
/// Lines of the terminal with everything that was measured, one figure per line.
std::string measurement_lines(const Measurement& measured);
/// Notes on a row: why it has no result, anything unusual, its own message.
std::vector<std::string> row_notes(const ComparisonRow& row);

}  // namespace matapprox::report
