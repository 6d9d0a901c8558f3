#include "matapprox/operators/sparse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "kernels/sparse.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "operators/finite.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

bool has_ascending_columns(const SparseMatrix& A) {
  for (Index i = 0; i < A.rows(); ++i) {
    const Index* first = A.innerIndexPtr() + A.outerIndexPtr()[i];
    const Index* last = A.innerIndexPtr() + A.outerIndexPtr()[i + 1];
    if (!std::is_sorted(first, last)) return false;
  }
  return true;
}

}  // namespace

SparseOperator::SparseOperator(const SparseMatrix& values, std::string description)
    : SparseOperator(SparseMatrix(values), std::move(description)) {}

SparseOperator::SparseOperator(SparseMatrix&& values, std::string description)
    : description_(std::move(description)) {
  values_.swap(values);  // Eigen 3.4 would copy in a move
  values_.makeCompressed();
  require_finite(values_, description_);
  if (!has_ascending_columns(values_)) {
    // Transposing sorts.
    const SparseMatrix mirrored = values_.transpose();
    values_ = mirrored.transpose();
  }
  const Symmetry symmetry = rounding_symmetry(values_);
  facts_.symmetric = symmetry.symmetric;
  facts_.averaged_asymmetry = symmetry.largest_difference;
  if (!equals_transpose()) transposed_ = values_.transpose();
  const double* stored = values_.valuePtr();
  facts_.nonzeros = values_.nonZeros() - std::count(stored, stored + values_.nonZeros(), 0.0);
  facts_.frobenius_norm = frobenius_norm(stored, values_.nonZeros());
}

bool SparseOperator::equals_transpose() const {
  return *facts_.symmetric && facts_.averaged_asymmetry == 0;
}

const SparseMatrix& SparseOperator::transposed() const {
  return equals_transpose() ? values_ : transposed_;
}

Vector SparseOperator::diagonal() const {
  const Index n = std::min(rows(), cols());
  Vector result(n);
  for (Index i = 0; i < n; ++i) result(i) = values_.coeff(i, i);
  return result;
}

Cost SparseOperator::cost() const {
  const Index stored = values_.nonZeros();
  const auto multiplications = static_cast<double>(stored);
  // Counts the matrix as a file or a user would store it; the second orientation only adds speed.
  return {.stored_numbers = stored,
          .stored_bytes = sparse_bytes(rows(), cols(), stored, Precision::kDouble),
          .multiplications_per_apply = multiplications,
          .multiplications_per_column = 0,
          .multiplications_for_diagonal = 0};
}

std::string SparseOperator::description() const {
  return fmt::format("{}, {} stored entries", description_, values_.nonZeros());
}

void SparseOperator::do_apply(const ConstBlock& X, Block Y) const {
  kernels::sparse_apply(values_, X, Y);
}

void SparseOperator::do_apply_transpose(const ConstBlock& X, Block Y) const {
  kernels::sparse_apply(transposed(), X, Y);
}

void SparseOperator::do_columns_at(std::span<const Index> J, Block Y) const {
  kernels::gather_rows(transposed(), J, Y);
}

void SparseOperator::do_rows_at(std::span<const Index> I, Block Y) const {
  kernels::gather_rows(values_, I, Y);
}

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
