#include "measure/panel_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox::report {
namespace {

[[noreturn]] void refuse(const std::string& what, Index row, Index column, double value) {
  throw NumericalError(
      fmt::format("{}: the entry in row {}, column {} is {}; every entry must be finite",
                  what,
                  row + 1,
                  column + 1,
                  std::isnan(value) ? "NaN" : "infinite"));
}

}  // namespace

double panel_norm(const Matrix& X) {
  // Well inside the range of doubles, squares of unscaled entries have the same digits.
  const double squares = X.array().square().sum();
  if (squares > 1e-200 && squares < 1e200) return std::sqrt(squares);
  const double largest = X.size() == 0 ? 0.0 : X.cwiseAbs().maxCoeff();
  if (largest == 0 || !std::isfinite(largest)) return largest;
  int exponent = 0;
  std::frexp(largest, &exponent);
  // Two factors, because 2^-exponent itself overflows for subnormal entries.
  const double half = std::ldexp(1.0, -exponent / 2);
  const double rest = std::ldexp(1.0, -(exponent - exponent / 2));
  const double scaled = std::sqrt(((X.array() * half) * rest).square().sum());
  return std::ldexp(scaled, exponent);
}

double combined_norm(std::span<const double> norms) {
  const double largest = norms.empty() ? 0.0 : *std::max_element(norms.begin(), norms.end());
  if (largest == 0 || !std::isfinite(largest)) return largest;
  double sum = 0;
  for (const double norm : norms) sum += (norm / largest) * (norm / largest);
  return largest * std::sqrt(sum);
}

void refuse_nonfinite(const LinearOperator& A, const Matrix& image) {
  if (image.allFinite()) return;
  Index bad_row = 0;
  while (image.row(bad_row).allFinite()) ++bad_row;
  const Matrix row = A.rows_at(index_range(bad_row, 1));
  for (Index j = 0; j < row.rows(); ++j) {
    if (!std::isfinite(row(j, 0))) refuse(A.description(), bad_row, j, row(j, 0));
  }
  throw NumericalError(
      fmt::format("{}: a product overflows in row {}, though its entries are finite",
                  A.description(),
                  bad_row + 1));
}

}  // namespace matapprox::report
