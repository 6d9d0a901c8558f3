#include "report/spectrum.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "matapprox/core/error.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "report/fit_records.hpp"

namespace matapprox::report {
namespace {

constexpr Index kLargestDense = 2048;
constexpr Index kLeading = 100;

Spectrum leading_values(const LinearOperator& A, double max_seconds, const RunControl& control) {
  RunControl svd_control;
  svd_control.stop = control.stop;
  svd_control.max_seconds = max_seconds;
  try {
    const Approximation svd =
        truncated_svd(A, {.rank = std::min(kLeading, std::min(A.rows(), A.cols()))}, svd_control);
    const Vector values = singular_values_of(svd);
    return {
        values,
        false,
        fmt::format("the leading {}, from truncated_svd ({})", values.size(), svd.summary.form)};
  } catch (const Error& error) {
    return {{}, false, error.what()};
  }
}

}  // namespace

Spectrum spectrum_of(const LinearOperator& A,
                     const Vector& known,
                     double max_seconds,
                     const RunControl& control) {
  const Index count = std::min(A.rows(), A.cols());
  const bool small = count <= kLargestDense && std::max(A.rows(), A.cols()) <= 16 * kLargestDense;
  if (small && !control.should_stop()) {  // after Ctrl-C a page is made of the existing results
    return {kernels::singular_values(A.columns_at(index_range(0, A.cols()))),
            true,
            fmt::format("all {}, by LAPACK", count)};
  }
  if (known.size() > 0) {
    return {
        known, false, fmt::format("the leading {} of {}, from truncated_svd", known.size(), count)};
  }
  return leading_values(A, max_seconds, control);
}

}  // namespace matapprox::report
