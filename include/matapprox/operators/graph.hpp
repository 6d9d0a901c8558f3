#pragma once

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Combinatorial Laplacian D - A of an undirected graph with weights A (n x n); D holds the row
/// sums. A loop adds equally to D and A and therefore cancels; an isolated node has a zero row. The
/// result is as symmetric as A and stores the links and one diagonal entry per node. Cost O(nnz).
/// Throws InvalidArgument if A is not square or not symmetric (directed), naming an entry;
/// NumericalError for NaN or Inf.
SparseMatrix graph_laplacian(const SparseMatrix& adjacency);

/// Normalized Laplacian I - D^-1/2 A D^-1/2 [Chu97], 0 in the row and on the diagonal of an
/// isolated node; eigenvalues in 0..2. Shape, cost and errors as for graph_laplacian; also throws
/// InvalidArgument for a negative weight, naming it.
SparseMatrix normalized_laplacian(const SparseMatrix& adjacency);

}  // namespace matapprox
