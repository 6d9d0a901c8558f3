#pragma once

#include <cstdint>

#include "matapprox/attention/options.hpp"

// Constants that the layers share with the kernels of the GPU's training step, so that both compute
// the same function. This header does not include Eigen.

namespace matapprox::attention {

/// Added to the sum of products of features by which a row is divided.
inline constexpr double kMinSum = 1e-6;
/// Added to the exponential in each feature of a Performer.
inline constexpr double kMinFeature = 1e-4;

// Dropout draws from counters (docs/random.md).

/// Equal to RandomStream::kDropout and RandomStream::kAttentionDropout.
inline constexpr std::uint32_t kDropoutStream = 12;
inline constexpr std::uint32_t kAttentionDropoutStream = 20;

/// The counter of a dropout is its number times 2^kDropoutNumberShift plus the position divided
/// by 4.
inline constexpr int kDropoutNumberShift = 32;
/// Numbers of the dropouts of a model.
inline constexpr Index kEmbeddingDropout = 0;
constexpr Index block_attention_dropout(Index block) { return 2 * block + 1; }
constexpr Index block_forward_dropout(Index block) { return 2 * block + 2; }
inline constexpr Index kHeadDropout = Index{1} << 20;

/// The counter of the attention probabilities of a head is (site << kSiteShift) + (layer <<
/// kLayerShift) + head: heads are at most kLargestWidth.
inline constexpr int kLayerShift = 24;
inline constexpr int kSiteShift = 40;

/// Added to the running number of a sample for the second of its two texts.
inline constexpr Index kSecondText = Index{1} << 46;

}  // namespace matapprox::attention
