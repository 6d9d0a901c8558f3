#include "report/fit_records.hpp"

#include <algorithm>
#include <functional>
#include <variant>

namespace matapprox::report {

Vector singular_values_of(const Approximation& svd) {
  for (const Factor& factor : svd.factors()) {
    const Vector* diagonal = std::get_if<Vector>(factor.value.get());
    if (diagonal == nullptr) continue;
    Vector values = diagonal->cwiseAbs();
    std::sort(values.begin(), values.end(), std::greater<>());
    return values;
  }
  return {};
}

void FitRecords::add(const ComparisonRow& row, const RunResult& result) {
  const Approximation& B = result.approximation;
  records_.push_back(
      {row.method, image_cells(B, plan_), difference_cells(A_, B, plan_), B.summary.history});
  if (B.summary.method != "truncated_svd") return;
  Vector values = singular_values_of(B);
  if (values.size() > singular_values_.size()) singular_values_ = std::move(values);
}

const FitRecord* FitRecords::find(const std::string& method) const {
  const auto found = std::find_if(records_.begin(), records_.end(), [&](const FitRecord& record) {
    return record.method == method;
  });
  return found == records_.end() ? nullptr : &*found;
}

}  // namespace matapprox::report
