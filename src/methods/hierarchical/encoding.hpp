#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "matapprox/factors/block_matrix.hpp"
#include "methods/hierarchical/blocks.hpp"
#include "methods/hierarchical/rate_distortion.hpp"

namespace matapprox::blocks {

// -------------------------------------------------------------------------------------- Leaves

/// Least unit of a block matrix: quantization steps of 16 bits must be far above the least double.
inline constexpr double kMinUnit = 0x1p-1001;

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

/// Appends the rounded U of the leading triplets of B, the block of `node`, one per width in
/// `bits`, and V = B^T U (U^T U)^-1, fitted to it by least squares and rounded. Vectors are taken
/// from `node.left`, which is recomputed if it has too few or too inaccurate ones.
StoredTriplets encode_low_rank(const ConstBlock& B,
                               const Node& node,
                               const std::vector<int>& bits,
                               std::uint64_t seed,
                               EncodedLeaf& leaf);
/// The same for a symmetric B: sum of s_k u_k u_k^T. The step of u_k is chosen so that s_k, a
/// bfloat16, divided by its square is the eigenvalue.
StoredTriplets encode_symmetric(const ConstBlock& B,
                                const Node& node,
                                const std::vector<int>& bits,
                                std::uint64_t seed,
                                EncodedLeaf& leaf);
/// The same two functions if the triplets of B are known, and B is not. Cost O((m + n) k r).
StoredTriplets encode_low_rank(const Triplets& B, const std::vector<int>& bits, EncodedLeaf& leaf);
StoredTriplets encode_symmetric(const Triplets& B, const std::vector<int>& bits, EncodedLeaf& leaf);

/// |B - stored|_F^2, as a sum of mutually orthogonal parts.
double squared_distance(const Triplets& B, const StoredTriplets& stored);

/// Encodes all entries; adds to leaf.squared_error.
void encode_dense(const ConstBlock& B, bool on_diagonal, int bits, EncodedLeaf& leaf);
/// Encodes the entries whose square is at least `square_cutoff`; adds likewise.
void encode_sparse(
    const ConstBlock& B, bool on_diagonal, double square_cutoff, int bits, EncodedLeaf& leaf);

/// Appends the arrays of a leaf to those of a block matrix.
void append_leaf(const EncodedLeaf& leaf, BlockMatrix::Content& content);

// ---------------------------------------------------------------------------- The whole matrix

/// A block matrix B and its distance from the approximated matrix A.
struct Encoded {
  BlockMatrix blocks;
  double squared_error = 0;            ///< |A - B|_F^2, summed over blocks, with
                                       ///< the estimates of the source
  std::vector<double> squared_errors;  ///< one for each of choices.leaves()
  Index largest_rank = 0;
};

/// Encoding of a node: its leaves of the first and of the second layer, and the squared error.
struct EncodedNode {
  std::optional<EncodedLeaf> leaf;
  std::optional<EncodedLeaf> remainder;
  double squared_error = 0;
};

/// Encodes a node by its best choice. May be called from several threads, for different nodes.
EncodedNode encode_node(const BlockTree& tree, const RateDistortion& choices, const Node& node);

/// Encodes the leaves chosen at the last price, with all threads, and on all ranks if the choices
/// are distributed. Entries of A are `unit` times those of the tree's source. Throws Interrupted.
Encoded encode(const BlockTree& tree,
               const RateDistortion& choices,
               double unit,
               const RunControl& control);

}  // namespace matapprox::blocks
