#pragma once

namespace matapprox {

/// The x that a chi-squared variable of `degrees` > 0 degrees of freedom, not necessarily a whole
/// number, stays below with this probability, strictly between 0 and 1. Relative error below 1e-11
/// up to 1e6 degrees and for probabilities from 1e-12 to 1 - 1e-6. Cost: about 40 sqrt(degrees)
/// additions.
double chi_square_quantile(double degrees, double probability);

}  // namespace matapprox
