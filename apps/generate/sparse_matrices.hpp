#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// Negative Laplacian of an x by y by z grid (z = 1 for a plane): 2 * dimensions on the diagonal,
/// -1 for each neighbor; order x y z.
SparseMatrix mesh_laplacian(Index x, Index y, Index z);

/// Adjacency matrix of a ring of n nodes, each joined to its `degree` nearest nodes; the far end of
/// each edge moves to a random node with probability `rewiring` (Watts and Strogatz).
SparseMatrix small_world(Index n, Index degree, double rewiring, std::uint64_t seed);

/// Adjacency matrix of a graph in which each new node is joined to `links` older ones, chosen in
/// proportion to their degree (Barabasi and Albert).
SparseMatrix scale_free(Index n, Index links, std::uint64_t seed);

/// Adjacency matrix of `blocks` groups of equal size: an edge has probability `inside` within a
/// group, `outside` between two.
SparseMatrix block_model(Index n, Index blocks, double inside, double outside, std::uint64_t seed);

/// A random permutation matrix.
SparseMatrix permutation(Index n, std::uint64_t seed);

}  // namespace matapprox::generate
