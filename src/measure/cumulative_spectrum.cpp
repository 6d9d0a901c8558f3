#include "matapprox/measure/cumulative_spectrum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/kernels/lapack.hpp"

namespace matapprox {

double CumulativeSpectrum::share(Index k, int power) const {
  double head = 0;
  double all = 0;
  // Values are divided by the largest, so that their powers neither overflow nor all vanish.
  const double largest = values.size() > 0 ? values(0) : 0.0;
  for (Index i = 0; i < values.size() && largest > 0; ++i) {
    const double term = std::pow(values(i) / largest, power);
    all += term;
    if (i < k) head += term;
  }
  return all > 0 ? head / all : std::numeric_limits<double>::quiet_NaN();
}

CumulativeSpectrum cumulative_spectrum(const LinearOperator& A, bool center_columns) {
  Matrix dense = A.columns_at(index_range(0, A.cols()));
  if (center_columns) dense.rowwise() -= dense.colwise().mean().eval();
  return {kernels::singular_values(dense), center_columns};
}

}  // namespace matapprox
