#pragma once

#include <array>
#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Separate, independent sequences under one seed, so that two parts of a computation never share
/// random numbers by accident. The values are part of the file format (kJlProjection) and of
/// reproducibility: never renumber.
enum class RandomStream : std::uint32_t {
  kJlProjection = 1,
  kSketch = 2,
  kCoSketch = 3,
  kSampling = 4,
  kChordStart = 5,
  kMeasure = 6,
  kFingerprint = 7,
  kGenerator = 8,
  kChordColumns = 9,
  kAttentionStart = 10,
  kAttentionBuffer = 11,
  kDropout = 12,
  kTask = 13,
  kShuffle = 14,
  kMeasureColumns = 15,
  kChordOrder = 16,
  kCertificate = 17,
  kStreamRows = 18,
  kStreamColumns = 19,
  kAttentionDropout = 20,
  kKronecker = 21,
  kButterfly = 22,
  kTransform = 23,
  kToeplitz = 24,
  kOutliers = 25,
};

/// Counter-based random numbers: a pure function of (seed, stream, i, j), hence the same for any
/// order, thread count or machine. Philox4x32-10 [SMDS11] with
///   key     = (low, high 32 bits of the seed)
///   counter = (low 32 bits of j, low 32 bits of i, bits 32..47 of i * 2^16 + bits 32..47 of j,
///              stream).
/// i and j are in 0 .. 2^48-1.
std::array<std::uint32_t, 4> random_words(std::uint64_t seed,
                                          RandomStream stream,
                                          Index i,
                                          Index j);

/// Uniform in (0, 1): ((w1 * 2^32 + w0) >> 11 + 1/2) 2^-53 of random_words(seed, stream, i, j).
double random_uniform(std::uint64_t seed, RandomStream stream, Index i, Index j);

/// Uniform in 0 .. bound-1 (bound >= 1), from random_uniform.
Index random_index(std::uint64_t seed, RandomStream stream, Index i, Index j, Index bound);

/// Standard normal, by Box-Muller from the words of counter (i, floor(j/2)):
///   u = ((w1 w0) >> 11 + 1/2) 2^-53, v likewise from (w3 w2), r = sqrt(-2 ln u),
///   r cos(2 pi v) for even j, r sin(2 pi v) for odd j.
/// ln, cos and sin are evaluated with + - * / sqrt only, in the order that docs/random.md gives, so
/// that the result is the same to the bit everywhere.
double random_normal(std::uint64_t seed, RandomStream stream, Index i, Index j);

/// X(i, j) = random_normal(seed, stream, row_offset + i, column_offset + j), on all threads.
void fill_normal(std::uint64_t seed,
                 RandomStream stream,
                 Block X,
                 Index row_offset = 0,
                 Index column_offset = 0);

/// A rows x cols matrix filled by fill_normal.
Matrix random_normal_matrix(std::uint64_t seed, RandomStream stream, Index rows, Index cols);

}  // namespace matapprox
