#pragma once

#include <cstdint>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"
#include "methods/hierarchical/block_source.hpp"

namespace matapprox::blocks {

/// Data that one leaf adds to the arrays of a block matrix.
struct EncodedLeaf {
  BlockLeaf leaf;
  std::vector<std::uint8_t> bits;
  std::vector<std::uint16_t> scales;
  std::vector<std::uint8_t> data;
  double squared_error = 0;
};

/// sum over k of scales(k) U(:, k) V(:, k)^T as it is stored; V is empty if it equals U.
struct StoredTriplets {
  Matrix U;
  Vector scales;
  Matrix V;
  Matrix product() const;
};

/// Appends the rounded U of the leading triplets of B, one per width in `bits`, and V = B^T U (U^T
/// U)^-1, fitted to it by least squares and rounded. Vectors are taken from `known`, which is
/// recomputed if it has too few or too inaccurate ones.
StoredTriplets encode_low_rank(const ConstBlock& B,
                               const std::vector<int>& bits,
                               std::uint64_t seed,
                               LeftVectors& known,
                               EncodedLeaf& leaf);
/// The same for a symmetric B: sum of s_k u_k u_k^T. The step of u_k is chosen so that s_k, a
/// bfloat16, divided by its square is the eigenvalue.
StoredTriplets encode_symmetric(const ConstBlock& B,
                                const std::vector<int>& bits,
                                std::uint64_t seed,
                                LeftVectors& known,
                                EncodedLeaf& leaf);
/// The same two functions if the triplets of B are known, and B is not. Cost O((m + n) k r).
StoredTriplets encode_low_rank(const Triplets& B, const std::vector<int>& bits, EncodedLeaf& leaf);
StoredTriplets encode_symmetric(const Triplets& B, const std::vector<int>& bits, EncodedLeaf& leaf);

/// |B - stored|_F^2, as a sum of mutually orthogonal parts.
double squared_distance(const Triplets& B, const StoredTriplets& stored);

/// Encodes all entries; adds to leaf.squared_error.
void encode_dense(const ConstBlock& B, bool on_diagonal, int bits, EncodedLeaf& leaf);
/// Encodes the entries whose square is at least `least_square`; adds likewise.
void encode_sparse(
    const ConstBlock& B, bool on_diagonal, double least_square, int bits, EncodedLeaf& leaf);

}  // namespace matapprox::blocks
