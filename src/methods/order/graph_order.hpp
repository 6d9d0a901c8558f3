#pragma once

#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::node_order {

// ------------------------------------------------------------- Entries that determine an order

/// The entries |a_ij| of a square matrix that determine an ordering.
struct Entries {
  SparseMatrix sizes;   ///< compressed, columns ascending within a row
  bool sparse = false;  ///< `sizes` holds all nonzeros, which are few
  Vector by_distance;   ///< sums of |a_ij| over all entries, at (j - i) mod N
};

/// Returns all entries of A if at most 32 N are nonzero; else the 32 largest of each column, the
/// upper ones among equals. Reads A once, by column panels unless it is a sparse matrix in memory;
/// holds at most 64 N entries. Throws Interrupted, NumericalError for NaN or Inf.
Entries largest_entries(const LinearOperator& A, const RunControl& control);

/// True if reading all of A takes seconds at most: up to order 16384, or for any sparse matrix.
bool is_quick_to_read(const LinearOperator& A);

/// Returns the weighted graph |A| + |A|^T without the diagonal.
SparseMatrix joined(const Entries& entries);

// -------------------------------------------------------------- Orders of the nodes of a graph

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

}  // namespace matapprox::node_order
