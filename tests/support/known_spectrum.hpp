#pragma once

#include "matapprox/core/types.hpp"

// Matrices constructed from given singular values or eigenvalues.
namespace matapprox::test {

/// n x k with orthonormal columns, n >= k; determined by the seed.
Matrix random_orthonormal(Index n, Index k, std::uint64_t seed);

/// m x n matrix U diag(sigma) V^T with random orthonormal U, V; sigma has at most min(m, n)
/// entries.
Matrix with_singular_values(Index m, Index n, const Vector& sigma, std::uint64_t seed = 1);

/// n x n symmetric matrix U diag(lambda) U^T, n = lambda.size(); exactly symmetric.
Matrix with_eigenvalues(const Vector& lambda, std::uint64_t seed = 1);

/// sigma_k = 1/k, k = 1..n.
Vector harmonic_spectrum(Index n);
/// sigma_k = base^-(k-1), k = 1..n.
Vector geometric_spectrum(Index n, double base = 10);
/// `head` ones, then n - head entries `tail`.
Vector step_spectrum(Index n, Index head, double tail);

/// sqrt(sum over i >= k of sigma_i^2): by Eckart and Young the error of the best rank k.
double tail_norm(const Vector& sigma, Index k);

/// Standard normal entries.
Matrix random_matrix(Index rows, Index cols, std::uint64_t seed = 1);
/// About `per_row` standard normal entries in each row, at random positions.
SparseMatrix random_sparse(Index rows, Index cols, Index per_row, std::uint64_t seed = 1);
/// The five-point Laplacian of a width x width grid with zero boundary: symmetric positive
/// definite.
SparseMatrix grid_laplacian(Index width);

}  // namespace matapprox::test
