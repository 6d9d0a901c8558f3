#include "methods/weighted_sample.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox {

std::vector<Index> weighted_order(const Vector& weights, std::uint64_t seed, Index sequence) {
  const double largest = weights.size() == 0 ? 0.0 : weights.maxCoeff();
  Vector keys(weights.size());
  for (Index i = 0; i < weights.size(); ++i) {
    const double u = random_uniform(seed, RandomStream::kSampling, sequence, i);
    const double weight = largest > 0 ? weights(i) / largest : 0.0;
    keys(i) = weight > 0 ? -std::log(u) / weight : std::numeric_limits<double>::infinity();
  }
  std::vector<Index> order = index_range(0, weights.size());
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return keys(i) < keys(j); });
  return order;
}

}  // namespace matapprox
