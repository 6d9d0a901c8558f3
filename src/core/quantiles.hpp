#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Quantile of the chi-squared distribution with `degrees` > 0 degrees of freedom, not necessarily
/// an integer: a variable stays below it with `probability`, strictly between 0 and 1. The relative
/// error is below 1e-11 up to 1e6 degrees and for probabilities from 1e-12 to 1 - 1e-6. Cost: about
/// 40 sqrt(degrees) additions.
double chi_square_quantile(double degrees, double probability);

/// 97.5 % quantile of Student's t distribution, accurate to 1e-3 from 7 degrees of freedom on
/// (Cornish-Fisher expansion, Abramowitz and Stegun 26.7.5).
inline double student_quantile(Index degrees_of_freedom) {
  const double z = 1.959963984540054;
  const auto nu = static_cast<double>(degrees_of_freedom);
  const double z3 = z * z * z;
  const double z5 = z3 * z * z;
  const double z7 = z5 * z * z;
  return z + (z3 + z) / (4 * nu) + (5 * z5 + 16 * z3 + 3 * z) / (96 * nu * nu) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * nu * nu * nu);
}

}  // namespace matapprox
