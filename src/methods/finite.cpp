#include "methods/finite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

[[noreturn]] void throw_not_finite(const char* method) {
  throw NumericalError(
      fmt::format("{}: the matrix holds NaN or Inf, or a product with it overflows", method));
}

/// Calls function(first, count) in parallel for tiles of a few thousand rows that cover X, so that
/// a stop request need not wait for all of a large block.
template <class Function>
void over_row_tiles(const ConstBlock& X, const Function& function) {
  constexpr Index kTileRows = 2048;
  parallel_for((X.rows() + kTileRows - 1) / kTileRows, [&](Index tile) {
    const Index first = tile * kTileRows;
    function(first, std::min(kTileRows, X.rows() - first));
  });
}

/// Returns function(panel) for each panel of columns, computed in parallel.
template <class Function>
Vector of_column_panels(const ConstBlock& X, const Function& function) {
  constexpr Index kPanel = 32;
  Vector results((X.cols() + kPanel - 1) / kPanel);
  parallel_for(results.size(), [&](Index panel) {
    const Index first = panel * kPanel;
    results(panel) = function(X.middleCols(first, std::min(kPanel, X.cols() - first)));
  });
  return results;
}

double unit_scale_of(double largest) {
  if (largest == 0.0) return 1.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1022, 1022));
}

}  // namespace

void require_not_empty(const LinearOperator& A, const char* method) {
  require(A.rows() >= 1 && A.cols() >= 1,
          "{}: the matrix is {} x {}; it needs at least one row and column",
          method,
          A.rows(),
          A.cols());
}

void require_tolerance(double tolerance, const char* method) {
  require(tolerance >= 0 && tolerance < 1,
          "{}: tolerance {:g} is outside 0..1 (1 excluded)",
          method,
          tolerance);
}

void require_divisor(Index divisor, Index size, const char* rows_or_columns, const char* method) {
  require(divisor >= 0 && (divisor == 0 || size % divisor == 0),
          "{}: {} is not a divisor of the {} {}",
          method,
          divisor,
          size,
          rows_or_columns);
}

void require_finite(const ConstBlock& X, const char* method) {
  std::atomic<bool> finite = true;
  over_row_tiles(X, [&](Index first, Index count) {
    if (!X.middleRows(first, count).allFinite()) finite = false;
  });
  if (!finite) throw_not_finite(method);
}

Vector row_squared_norms(const ConstBlock& X) {
  Vector norms(X.rows());
  over_row_tiles(X, [&](Index first, Index count) {
    norms.segment(first, count) = X.middleRows(first, count).rowwise().squaredNorm();
  });
  return norms;
}

double largest_entry(const ConstBlock& X) {
  if (X.size() == 0) return 0;
  return of_column_panels(X, [](const auto& panel) { return panel.cwiseAbs().maxCoeff(); })
      .maxCoeff();
}

double unit_scale(const ConstBlock& X) { return unit_scale_of(largest_entry(X)); }

double scaled_norm(double scale, const ConstBlock& X) {
  return std::sqrt(
      of_column_panels(X, [&](const auto& panel) { return (scale * panel).squaredNorm(); }).sum());
}

double finite_unit_scale(const MultiVector& X, const char* method) {
  const double largest = X.space()->largest(X.data(), X.size());
  if (!std::isfinite(largest)) throw_not_finite(method);
  return unit_scale_of(largest);
}

}  // namespace matapprox
