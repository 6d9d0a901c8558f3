#pragma once

#include <cstdint>

#include "matapprox/core/types.hpp"

namespace matapprox::generate {

/// exp(-x) for x in 0..700, accurate to 1e-13. Like everything in this program it uses only + - * /
/// (and sqrt), so that the files are identical to the bit on every machine; std::exp and std::cos
/// differ between mathematics libraries.
double exp_minus(double x);

/// cos(2 pi p / q) for q divisible by 8 and any p, within a unit in the last place.
double cos_of_turn(Index p, Index q);

/// 1 / (i + j + 1), indices from 0: the singular values decay geometrically.
Matrix hilbert(Index n);

/// 1 / (i - j + 1/2): Toeplitz and not symmetric; most singular values are close to pi (Parter).
Matrix parter(Index n);

/// correlation^|i - j|: covariance of a stationary AR(1) process with unit variance.
Matrix ar1_covariance(Index n, double correlation);

/// Loadings B of n variables on `factors` common factors, standard normal.
Matrix factor_loadings(Index n, Index factors, std::uint64_t seed);

/// B B^T + D with D diagonal, uniform in 0.5..1.5: covariance of the factor model.
Matrix factor_covariance(const Matrix& loadings, std::uint64_t seed);

/// Rows are samples of the factor model, rounded to six decimals.
Matrix factor_samples(const Matrix& loadings, Index samples, std::uint64_t seed);

/// The orthogonal discrete cosine transform DCT-II; n must be divisible by 2.
Matrix discrete_cosine_transform(Index n);

/// Points (rows) around `clusters` centers from N(0, 16 I), with standard deviation 1, rounded to
/// six decimals.
Matrix clustered_points(Index points, Index dimension, Index clusters, std::uint64_t seed);

/// exp(-|x - y|^2 / (2 bandwidth^2)) of all pairs of rows.
Matrix gaussian_kernel(const Matrix& points, double bandwidth);

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

/// A chessboard of n x n gray values: `squares` x `squares` fields of 224 and 32 in turn; rank 2.
Matrix chessboard(Index n, Index squares);

/// A scene of n x n gray values, whole numbers in 0..255: a house between hills under a bright sky,
/// with sharp edges at many angles (4 x 4 samples per pixel), smooth shading, a brick wall and
/// rough grass.
Matrix scene(Index n, std::uint64_t seed);

}  // namespace matapprox::generate
