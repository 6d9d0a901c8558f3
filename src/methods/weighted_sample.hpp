#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Returns the indices of positive weight in the order of a weighted draw without replacement,
/// followed by those of weight 0: the first k are a sample of k. Sorts by the exponential keys
/// -ln(u_i) / w_i [ES06], u_i = random_uniform(seed, kSampling, sequence, i).
inline std::vector<Index> weighted_order(const Vector& weights,
                                         std::uint64_t seed,
                                         Index sequence) {
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
