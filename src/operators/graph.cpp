#include "matapprox/operators/graph.hpp"

#include <cmath>
#include <string_view>
#include <vector>

#include "matapprox/core/require.hpp"
#include "operators/finite.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {

namespace {

using Entry = Eigen::Triplet<double, Index>;

/// Checks the adjacency matrix and returns it with ascending columns in every row.
SparseMatrix checked(const SparseMatrix& adjacency, const std::string& who) {
  require(adjacency.rows() == adjacency.cols(),
          "{}: the adjacency matrix is {} x {}; it must be square",
          who,
          adjacency.rows(),
          adjacency.cols());
  require_finite(adjacency, who);
  const SparseMatrix mirrored = adjacency.transpose();
  SparseMatrix A = mirrored.transpose();  // transposing sorts
  if (const auto found = find_asymmetry(A, kSymmetryTolerance)) {
    require(false,
            "{}: the graph is directed: weight ({}, {}) is {}, weight ({}, {}) is {}, counted from "
            "0; the adjacency matrix must be symmetric",
            who,
            found->row,
            found->col,
            found->value,
            found->col,
            found->row,
            found->mirror);
  }
  return A;
}

Vector row_sums(const SparseMatrix& A) {
  Vector sums = Vector::Zero(A.rows());
  for (Index i = 0; i < A.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) sums(i) += entry.value();
  }
  return sums;
}

/// Returns the matrix with this diagonal plus, for every entry a of A, the entry link(a, i, j).
template <class Link>
SparseMatrix diagonal_plus_links(const SparseMatrix& A, const Vector& diagonal, Link link) {
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(A.nonZeros() + A.rows()));
  for (Index i = 0; i < A.rows(); ++i) {
    entries.emplace_back(i, i, diagonal(i));
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      entries.emplace_back(i, entry.col(), link(entry.value(), i, entry.col()));
    }
  }
  SparseMatrix result(A.rows(), A.cols());
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

}  // namespace

SparseMatrix graph_laplacian(const SparseMatrix& adjacency) {
  const SparseMatrix A = checked(adjacency, "graph laplacian");
  return diagonal_plus_links(A, row_sums(A), [](double a, Index, Index) { return -a; });
}

SparseMatrix normalized_laplacian(const SparseMatrix& adjacency) {
  const SparseMatrix A = checked(adjacency, "normalized laplacian");
  for (Index i = 0; i < A.rows(); ++i) {
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) {
      require(entry.value() >= 0,
              "normalized laplacian: weight ({}, {}), counted from 0, is {}; weights must not be "
              "negative",
              entry.row(),
              entry.col(),
              entry.value());
    }
  }
  const Vector degrees = row_sums(A);
  const Vector ones = (degrees.array() > 0).cast<double>();
  return diagonal_plus_links(A, ones, [&degrees](double a, Index i, Index j) {
    // A link stored as 0 may join isolated nodes.
    return a == 0 ? 0.0 : -a / (std::sqrt(degrees(i)) * std::sqrt(degrees(j)));
  });
}

}  // namespace matapprox
