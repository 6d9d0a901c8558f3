#pragma once

#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::chord_fit {

/// Orders of the nodes of a graph, neighbors near each other: result[p] is the node at place p.
/// The graph is its symmetric adjacency matrix, compressed, without a diagonal; its components
/// follow each other, the one with the smallest number first.

/// Reverse Cuthill-McKee [CM69]: breadth first, from a node that is far from others, neighbors of
/// few links first. Cost O(N + links).
std::vector<Index> reverse_cuthill_mckee(const SparseMatrix& graph);

/// By the Fiedler vector of each component: the eigenvector of the second smallest eigenvalue of
/// the Laplacian D - W, W the adjacency matrix with its weights [Fie73], by inverse iteration on a
/// Cholesky factorization of D - W + tiny I in the order of reverse Cuthill-McKee. Where that would
/// take more than 2e9 multiplications, a component stays in that order; of an iteration that has
/// not converged after 50 steps what there is. Throws Interrupted.
std::vector<Index> spectral_order(const SparseMatrix& graph, const RunControl& control);

}  // namespace matapprox::chord_fit
