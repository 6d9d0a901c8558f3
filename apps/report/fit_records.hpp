#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"
#include "report/heat_map.hpp"

namespace matapprox::report {

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

}  // namespace matapprox::report
