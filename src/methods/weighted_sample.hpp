#pragma once

#include <cstdint>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// All indices of `weights` with a positive weight in the order of a weighted draw without
/// replacement, then those of weight 0: the first k are a sample of k. By exponential keys
/// -ln(u_i) / w_i [ES06], u_i = random_uniform(seed, kSampling, sequence, i).
std::vector<Index> weighted_order(const Vector& weights, std::uint64_t seed, Index sequence);

}  // namespace matapprox
