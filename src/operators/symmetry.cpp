#include "operators/symmetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "matapprox/core/threads.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/sparse.hpp"

namespace matapprox {
namespace {

constexpr Index kSymmetryTile =
    64;  // rows and columns compared at a time: two tiles fit the L1 cache

Index symmetry_tiles(Index n) { return (n + kSymmetryTile - 1) / kSymmetryTile; }

/// Calls visit(i, j) for each i > j of the tiles at and below the diagonal in this column of tiles,
/// until it returns false.
template <class Visit>
void visit_lower_tiles(Index n, Index tile_col, const Visit& visit) {
  for (Index tile_row = tile_col; tile_row < symmetry_tiles(n); ++tile_row) {
    const Index row_end = std::min(n, (tile_row + 1) * kSymmetryTile);
    const Index col_end = std::min(n, (tile_col + 1) * kSymmetryTile);
    for (Index j = tile_col * kSymmetryTile; j < col_end; ++j) {
      for (Index i = std::max(j + 1, tile_row * kSymmetryTile); i < row_end; ++i) {
        if (!visit(i, j)) return;
      }
    }
  }
}

bool are_equal(double a, double b, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

}  // namespace

std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance) {
  const Index n = A.rows();
  const Index* start = A.outerIndexPtr();
  const Index* columns = A.innerIndexPtr();
  const double* values = A.valuePtr();
  // next[j]: the first entry of row j that has not met its mirror image. Rows are visited in order,
  // so the mirror of (i, j) in row j must be the next one there. What is passed over before it has
  // a row k < i, already visited, that has no (k, j).
  std::vector<Index> next(start, start + n);
  for (Index i = 0; i < n; ++i) {
    for (Index p = start[i]; p < start[i + 1]; ++p) {
      const Index j = columns[p];
      Index& q = next[static_cast<std::size_t>(j)];
      for (; q < start[j + 1] && columns[q] < i; ++q) {
        if (values[q] != 0) return Asymmetry{j, columns[q], values[q], 0.0};
      }
      const bool found = q < start[j + 1] && columns[q] == i;
      if (!found && values[p] != 0) return Asymmetry{i, j, values[p], 0.0};
      if (!found) continue;
      if (!are_equal(values[q], values[p], tolerance)) {
        return Asymmetry{i, j, values[p], values[q]};
      }
      ++q;
    }
  }
  return std::nullopt;
}

Symmetry rounding_symmetry(const ConstBlock& A) {
  if (A.rows() != A.cols()) return {};
  const Index tiles = symmetry_tiles(A.rows());
  std::vector<double> largest(static_cast<std::size_t>(tiles), 0.0);
  std::atomic<bool> symmetric{true};
  parallel_for(tiles, [&](Index tile) {
    double& most = largest[static_cast<std::size_t>(tile)];
    visit_lower_tiles(A.rows(), tile, [&](Index i, Index j) {
      if (A(i, j) == A(j, i)) return true;
      if (!are_equal(A(i, j), A(j, i), kSymmetryTolerance)) symmetric = false;
      if (!symmetric) return false;
      most = std::max(most, std::abs(A(i, j) - A(j, i)));
      return true;
    });
  });
  if (!symmetric) return {};
  return {true, largest.empty() ? 0.0 : *std::max_element(largest.begin(), largest.end())};
}

Symmetry rounding_symmetry(const SparseMatrix& A) {
  if (A.rows() != A.cols()) return {};
  if (!find_asymmetry(A)) return {true, 0.0};
  if (find_asymmetry(A, kSymmetryTolerance)) return {};
  const SparseMatrix mirrored = A.transpose();
  const SparseMatrix difference = A - mirrored;
  return {true, difference.coeffs().cwiseAbs().maxCoeff()};
}

std::string why_not_symmetric(const LinearOperator& A) {
  if (A.rows() != A.cols()) return fmt::format("it is {} x {}", A.rows(), A.cols());
  const bool in_memory = dynamic_cast<const DenseOperator*>(&A) != nullptr ||
                         dynamic_cast<const DenseView*>(&A) != nullptr ||
                         dynamic_cast<const SparseOperator*>(&A) != nullptr;
  if (!in_memory) return "it is not symmetric";
  const Index panels = symmetry_tiles(A.cols());
  std::vector<Asymmetry> found(static_cast<std::size_t>(panels));
  // Halves, whose difference stays within the range.
  const auto difference = [](double a, double b) {
    return are_equal(a, b, kSymmetryTolerance) ? 0.0 : std::abs(a / 2 - b / 2);
  };
  parallel_for(panels, [&](Index panel) {
    const Index first = panel * kSymmetryTile;
    const std::vector<Index> J = index_range(first, std::min(kSymmetryTile, A.cols() - first));
    const Matrix columns = A.columns_at(J);
    const Matrix rows = A.rows_at(J);
    Index i = 0;
    Index k = 0;
    columns.binaryExpr(rows, difference).maxCoeff(&i, &k);
    found[static_cast<std::size_t>(panel)] = {i, first + k, columns(i, k), rows(i, k)};
  });
  const Asymmetry most =
      *std::max_element(found.begin(), found.end(), [&](const auto& a, const auto& b) {
        return difference(a.value, a.mirror) < difference(b.value, b.mirror);
      });
  return fmt::format(
      "it is not symmetric: entry ({}, {}) is {} and ({}, {}) is {}, the largest difference, "
      "counted "
      "from 0",
      most.row,
      most.col,
      most.value,
      most.col,
      most.row,
      most.mirror);
}

}  // namespace matapprox
