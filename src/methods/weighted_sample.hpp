#pragma once

#include <cstdint>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Returns the indices of positive weight in the order of a weighted draw without replacement,
/// followed by those of weight 0: the first k are a sample of k. Sorts by the exponential keys
/// -ln(u_i) / w_i [ES06], u_i = random_uniform(seed, kSampling, sequence, i).
std::vector<Index> weighted_order(const Vector& weights, std::uint64_t seed, Index sequence);

}  // namespace matapprox
