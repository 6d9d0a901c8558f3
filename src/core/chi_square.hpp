#pragma once

namespace matapprox {

/// Quantile of the chi-squared distribution with `degrees` > 0 degrees of freedom, not necessarily
/// an integer: a variable stays below it with `probability`, strictly between 0 and 1. The relative
/// error is below 1e-11 up to 1e6 degrees and for probabilities from 1e-12 to 1 - 1e-6. Cost: about
/// 40 sqrt(degrees) additions.
double chi_square_quantile(double degrees, double probability);

}  // namespace matapprox
