#include "operators/symmetry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/operators/stored_as.hpp"

namespace matapprox {
namespace {

constexpr Index kSymmetryTile =
    64;  // number of rows and columns compared at a time: two tiles fit the L1 cache

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

/// sqrt|a_ii|
Vector roots_of(const Vector& diagonal) { return diagonal.cwiseAbs().cwiseSqrt(); }

/// True if mirror images differ by at most `tolerance` times the largest of both and `size`,
/// sqrt|a_ii a_jj|.
bool are_equal(double a, double b, double size, double tolerance) {
  return a == b || std::abs(a - b) <= tolerance * std::max({std::abs(a), std::abs(b), size});
}

}  // namespace

std::optional<Asymmetry> find_asymmetry(const SparseMatrix& A, double tolerance) {
  const Index n = A.rows();
  const Index* start = A.outerIndexPtr();
  const Index* columns = A.innerIndexPtr();
  const double* values = A.valuePtr();
  const Vector roots = roots_of(A.diagonal());
  // next[j] is the first entry of row j that has not met its mirror image. Rows are visited in
  // order, so the mirror image of (i, j) in row j must be the next one there. An entry (j, k) that
  // is skipped before it has k < i, and row k, already visited, has no entry (k, j).
  std::vector<Index> next(start, start + n);
  for (Index i = 0; i < n; ++i) {
    for (Index p = start[i]; p < start[i + 1]; ++p) {
      const Index j = columns[p];
      Index& q = next[static_cast<std::size_t>(j)];
      for (; q < start[j + 1] && columns[q] < i; ++q) {
        const Index k = columns[q];
        if (!are_equal(values[q], 0.0, roots(j) * roots(k), tolerance)) {
          return Asymmetry{j, k, values[q], 0.0};
        }
      }
      const bool found = q < start[j + 1] && columns[q] == i;
      const double mirror = found ? values[q] : 0.0;
      if (!are_equal(values[p], mirror, roots(i) * roots(j), tolerance)) {
        return Asymmetry{i, j, values[p], mirror};
      }
      if (found) ++q;
    }
  }
  return std::nullopt;
}

Symmetry rounding_symmetry(const ConstBlock& A) {
  if (A.rows() != A.cols()) return {};
  const Index tiles = symmetry_tiles(A.rows());
  std::vector<double> largest(static_cast<std::size_t>(tiles), 0.0);
  const Vector roots = roots_of(A.diagonal());
  std::atomic<bool> symmetric{true};
  parallel_for(tiles, [&](Index tile) {
    double& most = largest[static_cast<std::size_t>(tile)];
    visit_lower_tiles(A.rows(), tile, [&](Index i, Index j) {
      if (A(i, j) == A(j, i)) return true;
      if (!are_equal(A(i, j), A(j, i), roots(i) * roots(j), kSymmetryTolerance)) symmetric = false;
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
  if (!has_entries_in_memory(A)) return "it is not symmetric";
  const Index panels = symmetry_tiles(A.cols());
  std::vector<Asymmetry> found(static_cast<std::size_t>(panels));
  const Vector roots = roots_of(A.diagonal());
  // Subtracts halves, whose difference stays within the range of doubles.
  const auto difference = [&roots](const Asymmetry& pair) {
    const double size = roots(pair.row) * roots(pair.col);
    return are_equal(pair.value, pair.mirror, size, kSymmetryTolerance)
               ? 0.0
               : std::abs(pair.value / 2 - pair.mirror / 2);
  };
  const auto is_less = [&](const Asymmetry& a, const Asymmetry& b) {
    return difference(a) < difference(b);
  };
  parallel_for(panels, [&](Index panel) {
    const Index first = panel * kSymmetryTile;
    const std::vector<Index> J = index_range(first, std::min(kSymmetryTile, A.cols() - first));
    const Matrix columns = A.columns_at(J);
    const Matrix rows = A.rows_at(J);
    Asymmetry& most = found[static_cast<std::size_t>(panel)];
    for (Index k = 0; k < columns.cols(); ++k) {
      for (Index i = 0; i < columns.rows(); ++i) {
        most = std::max(most, Asymmetry{i, first + k, columns(i, k), rows(i, k)}, is_less);
      }
    }
  });
  const Asymmetry most = *std::max_element(found.begin(), found.end(), is_less);
  return fmt::format(
      "it is not symmetric: entry ({}, {}) is {} and ({}, {}) is {}, the largest difference, "
      "counted from 0; if the difference is rounding, use (A + A^T) / 2",
      most.row,
      most.col,
      most.value,
      most.col,
      most.row,
      most.mirror);
}

void require_symmetric(const LinearOperator& A, const std::string& what) {
  if (!is_symmetric(A)) throw InvalidArgument(what + ": " + why_not_symmetric(A));
}

}  // namespace matapprox
