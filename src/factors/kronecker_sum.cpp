#include "matapprox/factors/kronecker_sum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numbers>
#include <utility>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"

namespace matapprox {
namespace {

/// Number of numbers between the two products of a multiplication, at most, unless one column takes
/// more.
constexpr Index kIntermediateNumbers = Index{1} << 22;

/// A pair of mirror entries is stored once, times sqrt(2), so that both count in the norm of a
/// term.
constexpr double kMirrorWeight = 1 / std::numbers::sqrt2;

/// All entries of the terms that L or R stores, each of n columns.
Matrix entries_of(const PackedMatrix& terms, Index n, bool symmetric) {
  Matrix stored = terms.columns(index_range(0, terms.cols()));
  if (!symmetric) return stored;
  Matrix full(n * n, terms.cols());
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i <= j; ++i) {
      const double factor = i == j ? 1 : kMirrorWeight;
      full.row(i + n * j) = factor * stored.row(i + j * (j + 1) / 2);
      full.row(j + n * i) = full.row(i + n * j);
    }
  }
  return full;
}

/// C_k as the rows k, r + k, ... of one matrix: row i_2 + m_2 k, column j_2; or C_k^T.
Matrix stacked(const Matrix& right, Index rows, Index cols, bool transposed) {
  const Index terms = right.cols();
  const Index height = transposed ? cols : rows;
  Matrix result(height * terms, transposed ? rows : cols);
  for (Index k = 0; k < terms; ++k) {
    const Eigen::Map<const Matrix> C(right.col(k).data(), rows, cols);
    if (transposed) {
      result.middleRows(height * k, height) = C.transpose();
    } else {
      result.middleRows(height * k, height) = C;
    }
  }
  return result;
}

/// B_k(i_1, j_1) in row k + r j_1, column i_1; or in row k + r i_1, column j_1.
Matrix interleaved(const Matrix& left, Index rows, Index cols, bool transposed) {
  const Index terms = left.cols();
  Matrix result(terms * (transposed ? rows : cols), transposed ? cols : rows);
  for (Index k = 0; k < terms; ++k) {
    const Eigen::Map<const Matrix> B(left.col(k).data(), rows, cols);
    for (Index j = 0; j < result.cols(); ++j) {
      for (Index i = 0; i < result.rows() / terms; ++i)
        result(k + terms * i, j) = transposed ? B(i, j) : B(j, i);
    }
  }
  return result;
}

}  // namespace

KroneckerSum::KroneckerSum(Content content) : content_(std::move(content)) {
  constexpr Index kLargestSide = Index{1} << 28;
  const Shape& s = shape();
  for (const Index side : {s.left_rows, s.left_cols, s.right_rows, s.right_cols}) {
    require(side >= 1 && side <= kLargestSide,
            "kronecker sum: a side of {}; sides must be 1 to {}",
            side,
            kLargestSide);
  }
  const bool symmetric = content_.symmetric;
  require(!symmetric || (s.left_rows == s.left_cols && s.right_rows == s.right_cols),
          "kronecker sum: symmetric terms that are not square");
  const auto check = [&](const PackedMatrix& terms, Index rows, Index cols) {
    const Index entries = symmetric ? triangle_entries(rows) : rows * cols;
    require(terms.rows() == entries && terms.cols() == count(),
            "kronecker sum: {} terms of {} numbers where {} of {} belong",
            terms.cols(),
            terms.rows(),
            count(),
            entries);
  };
  check(content_.left, s.left_rows, s.left_cols);
  if (content_.right) {
    check(*content_.right, s.right_rows, s.right_cols);
    require(content_.weights.size() == 0, "kronecker sum: weights beside the right terms");
  } else {
    require(s.left_rows == s.right_rows && s.left_cols == s.right_cols,
            "kronecker sum: no right terms, and sides that differ from the left ones");
    require(content_.weights.size() == count() && content_.weights.allFinite(),
            "kronecker sum: {} weights of {} terms, or not finite",
            content_.weights.size(),
            count());
  }
}

Matrix KroneckerSum::left_terms() const {
  return entries_of(content_.left, shape().left_cols, content_.symmetric);
}

Matrix KroneckerSum::right_terms() const {
  if (!content_.right) return left_terms() * content_.weights.asDiagonal();
  return entries_of(*content_.right, shape().right_cols, content_.symmetric);
}

Storage KroneckerSum::storage() const {
  const Storage left = content_.left.storage();
  const Index weights = content_.weights.size();
  const Storage right = content_.right ? content_.right->storage() : Storage{weights, 8 * weights};
  return {left.numbers + right.numbers, left.bytes + right.bytes};
}

double KroneckerSum::multiplications() const {
  const auto by_right = static_cast<double>(shape().left_cols) *
                        static_cast<double>(shape().right_rows * shape().right_cols);
  const auto by_left = static_cast<double>(shape().right_rows) *
                       static_cast<double>(shape().left_rows * shape().left_cols);
  return static_cast<double>(count()) * (by_right + by_left);
}

std::string KroneckerSum::description() const {
  return fmt::format("{}Kronecker product{} of {} x {} and {} x {}",
                     count() == 1 ? "" : fmt::format("sum of {} ", count()),
                     count() == 1 ? "" : "s",
                     shape().left_rows,
                     shape().left_cols,
                     shape().right_rows,
                     shape().right_cols);
}

/// A column of X is an n_2 x n_1 matrix, and its product is Y = sum_k C_k X B_k^T, of m_2 x m_1:
/// one product gives all C_k X, another adds them up.
Matrix KroneckerSum::multiply(bool transposed, const ConstBlock& X) const {
  using kernels::Trans;
  const Index read = transposed ? rows() : cols();
  require(
      X.rows() == read, "kronecker sum: a block of {} rows where {} are needed", X.rows(), read);
  const Matrix C = stacked(right_terms(), shape().right_rows, shape().right_cols, transposed);
  const Matrix B = interleaved(left_terms(), shape().left_rows, shape().left_cols, transposed);
  const Index inner = C.cols();      // n_2
  const Index outer = read / inner;  // n_1
  const Index height = C.rows() / count();
  Matrix Y(transposed ? cols() : rows(), X.cols());
  const Index at_a_time =
      std::clamp<Index>(kIntermediateNumbers / (C.rows() * outer), 1, std::max<Index>(X.cols(), 1));
  for (Index first = 0; first < X.cols(); first += at_a_time) {
    const Index columns = std::min(at_a_time, X.cols() - first);
    const Matrix block = X.middleCols(first, columns);
    const Eigen::Map<const Matrix> x(block.data(), inner, outer * columns);
    const Matrix products = kernels::product(C, x);
    for (Index c = 0; c < columns; ++c) {
      const Eigen::Map<const Matrix> each(
          products.data() + c * C.rows() * outer, height, count() * outer);
      Eigen::Map<Matrix> y(Y.col(first + c).data(), height, B.cols());
      kernels::gemm(Trans::kNo, each, Trans::kNo, B, y);
    }
  }
  return Y;
}

Matrix KroneckerSum::columns(bool transposed, std::span<const Index> J) const {
  const Matrix L = left_terms();
  const Matrix R = right_terms();
  const Shape& s = shape();
  // Column (j_1, j_2) is sum_k C_k(:, j_2) B_k(:, j_1)^T, as an m_2 x m_1 matrix.
  const Index width = transposed ? s.right_rows : s.right_cols;
  const Index height = transposed ? s.right_cols : s.right_rows;
  const Index blocks = transposed ? s.left_cols : s.left_rows;
  const auto part = [transposed](const Matrix& terms, Index rows, Index cols, Index j) -> Matrix {
    if (!transposed) return terms.middleRows(j * rows, rows);
    return terms(Eigen::seqN(j, cols, rows), Eigen::all);
  };
  Matrix result(transposed ? cols() : rows(), static_cast<Index>(J.size()));
  for (std::size_t c = 0; c < J.size(); ++c) {
    const Matrix b = part(L, s.left_rows, s.left_cols, J[c] / width);
    const Matrix v = part(R, s.right_rows, s.right_cols, J[c] % width);
    Eigen::Map<Matrix> column(result.col(static_cast<Index>(c)).data(), height, blocks);
    kernels::gemm(kernels::Trans::kNo, v, kernels::Trans::kYes, b, column);
  }
  return result;
}

Matrix rearranged(const Matrix& A, const KroneckerSum::Shape& shape) {
  require(A.rows() == shape.left_rows * shape.right_rows &&
              A.cols() == shape.left_cols * shape.right_cols,
          "kronecker sum: a matrix of {} x {} does not divide into {} x {} blocks of {} x {}",
          A.rows(),
          A.cols(),
          shape.left_rows,
          shape.left_cols,
          shape.right_rows,
          shape.right_cols);
  Matrix result(shape.left_rows * shape.left_cols, shape.right_rows * shape.right_cols);
  // Column i_2 + m_2 j_2 gathers one entry of each block.
  parallel_for(result.cols(), [&](Index q) {
    const Index i2 = q % shape.right_rows;
    const Index j2 = q / shape.right_rows;
    for (Index j1 = 0; j1 < shape.left_cols; ++j1) {
      const double* column = A.col(j1 * shape.right_cols + j2).data() + i2;
      for (Index i1 = 0; i1 < shape.left_rows; ++i1)
        result(i1 + shape.left_rows * j1, q) = column[i1 * shape.right_rows];
    }
  });
  return result;
}

Matrix triangles_of(const Matrix& full, Index n) {
  require(
      full.rows() == n * n, "kronecker sum: {} rows are not those of {} x {}", full.rows(), n, n);
  Matrix result(triangle_entries(n), full.cols());
  parallel_for(full.cols(), [&](Index c) {
    for (Index j = 0; j < n; ++j) {
      for (Index i = 0; i < j; ++i)
        result(i + j * (j + 1) / 2, c) = kMirrorWeight * (full(i + n * j, c) + full(j + n * i, c));
      result(j + j * (j + 1) / 2, c) = full(j + n * j, c);
    }
  });
  return result;
}

}  // namespace matapprox
