#pragma once

#include <vector>

#include "matapprox/factors/factor_product.hpp"
#include "methods/butterfly/plan.hpp"

namespace matapprox::butterflies {

struct Fit {
  std::vector<Factor> factors;
  Energies energies;
  double left_out = 0;  ///< squared, relative
};

/// The butterfly of a plan. Ends early, without factors, if the ranks leave out more than `most`.
Fit fitted(const Matrix& A,
           const Plan& plan,
           const std::vector<std::vector<int>>& bits,
           double most);

/// The same, in doubles.
Fit fitted_in_doubles(const Matrix& A, const Plan& plan, double most);

}  // namespace matapprox::butterflies
