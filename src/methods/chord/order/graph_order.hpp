#pragma once

#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::chord_fit {

/// Functions that order the nodes of a graph so that neighbors are near each other: result[p] is
/// the node at place p. The graph is its symmetric adjacency matrix, compressed, without a
/// diagonal; its components follow each other, the one with the smallest number first.

/// Reverse Cuthill-McKee order [CM69]: breadth first from a node that is far from others, neighbors
/// of low degree first. Cost O(N + links).
std::vector<Index> reverse_cuthill_mckee(const SparseMatrix& graph);

/// Order by the Fiedler vector of each component: the eigenvector of the second smallest eigenvalue
/// of the Laplacian D - W, W the adjacency matrix with its weights [Fie73], by inverse iteration on
/// a Cholesky factorization of D - W + tiny I in reverse Cuthill-McKee order. A component for which
/// that would take more than 2e9 multiplications stays in that order. An iteration that has not
/// converged after 50 steps is used as it is. Throws Interrupted.
std::vector<Index> spectral_order(const SparseMatrix& graph, const RunControl& control);

}  // namespace matapprox::chord_fit
