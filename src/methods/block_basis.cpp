#include "methods/block_basis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/gemm.hpp"
#include "kernels/lapack.hpp"
#include "matapprox/core/threads.hpp"

namespace matapprox {
namespace {

constexpr Index kStretch = 32768;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// Random directions take their numbers from columns that no sketch reaches.
constexpr Index kFirstRandomColumn = Index{1} << 40;

Vector column_norms(const ConstBlock& Y) { return Y.colwise().norm().transpose(); }

/// Y = Q R by Cholesky of the Gram matrix of the scaled columns; false, with Y as it was, if they
/// are dependent to more than 1e-6: the result is then orthonormal to 1e-4 at least, and to
/// rounding after a second time.
bool cholesky_qr(Matrix& Y, Matrix& R, const Vector& entry_norms) {
  Matrix gram = tall_transpose_product(Y, Y);
  const Vector norms = gram.diagonal().cwiseMax(0.0).cwiseSqrt();
  for (Index c = 0; c < norms.size(); ++c) {
    if (!(norms(c) > 100.0 * kEpsilon * entry_norms(c))) return false;
  }
  const Vector inverse = norms.cwiseInverse();
  gram = inverse.asDiagonal() * gram * inverse.asDiagonal();
  if (!kernels::cholesky(gram)) return false;
  if (gram.diagonal().minCoeff() < 1e-6) return false;
  // Y = Q L^T diag(norms).
  const Matrix lower = gram.triangularView<Eigen::Lower>();
  const Matrix inverse_upper =
      lower.transpose().triangularView<Eigen::Upper>().solve(Matrix::Identity(Y.cols(), Y.cols()));
  Y = kernels::product(Y, inverse.asDiagonal() * inverse_upper);
  R = lower.transpose() * norms.asDiagonal();
  return true;
}

}  // namespace

Matrix tall_transpose_product(const ConstBlock& A, const ConstBlock& B) {
  const Index stretches = (A.rows() + kStretch - 1) / kStretch;
  if (stretches <= 1) return kernels::transpose_product(A, B);
  std::vector<Matrix> parts(static_cast<std::size_t>(stretches));
  parallel_for(stretches, [&](Index s) {
    const Index first = s * kStretch;
    const Index count = std::min(kStretch, A.rows() - first);
    parts[static_cast<std::size_t>(s)] =
        kernels::transpose_product(A.middleRows(first, count), B.middleRows(first, count));
  });
  Matrix sum = std::move(parts.front());
  for (std::size_t s = 1; s < parts.size(); ++s) sum += parts[s];
  return sum;
}

BlockBasis::BlockBasis(Index n, Index capacity, std::uint64_t seed, RandomStream stream)
    : values_(n, std::min(n, capacity)), seed_(seed), stream_(stream) {}

Matrix BlockBasis::append(Matrix Y) {
  const Index width = std::min(Y.cols(), values_.cols() - size_);
  if (width == 0) return tall_transpose_product(columns(), Y);
  Matrix coefficients = Matrix::Zero(size_ + width, Y.cols());
  Matrix transform = Matrix::Identity(Y.cols(), Y.cols());  // of the block as it now is to Y
  for (int pass = 0; pass < 2; ++pass) {
    const Vector entry_norms = column_norms(Y);
    if (size_ > 0) {
      const Matrix H = tall_transpose_product(columns(), Y);
      kernels::gemm(kernels::Trans::kNo, columns(), kernels::Trans::kNo, H, Y, -1.0, 1.0);
      coefficients.topRows(size_) += kernels::product(H, transform);
    }
    const Matrix R = orthonormalize(Y, width, entry_norms);
    transform = kernels::product(R, transform);
  }
  coefficients.bottomRows(width) = transform;
  values_.middleCols(size_, width) = Y;
  size_ += width;
  return coefficients;
}

void BlockBasis::rotate(const ConstBlock& Q) {
  const Matrix rotated = kernels::product(columns(), Q);
  size_ = Q.cols();
  values_.leftCols(size_) = rotated;
}

/// Replaces Y (n x b) by `width` orthonormal columns Q and returns R (width x b) with Y ~ Q R.
Matrix BlockBasis::orthonormalize(Matrix& Y, Index width, const Vector& entry_norms) {
  Matrix R;
  if (width == Y.cols() && cholesky_qr(Y, R, entry_norms)) return R;
  return column_by_column(Y, width, entry_norms);
}

Matrix BlockBasis::column_by_column(Matrix& Y, Index width, const Vector& entry_norms) {
  Matrix Q(Y.rows(), width);
  Matrix R = Matrix::Zero(width, Y.cols());
  Index found = 0;
  for (Index c = 0; c < Y.cols(); ++c) {
    Vector y = Y.col(c);
    for (int pass = 0; pass < 2; ++pass) {
      const Vector h = Q.leftCols(found).transpose() * y;
      y.noalias() -= Q.leftCols(found) * h;
      R.col(c).head(found) += h;
    }
    const double norm = y.norm();
    if (found < width && norm > 100.0 * kEpsilon * entry_norms(c) && norm > 0.0) {
      R(found, c) = norm;
      Q.col(found++) = y / norm;
    }
  }
  for (; found < width; ++found) random_direction(Q.leftCols(found), Q.col(found));
  Y = std::move(Q);
  return R;
}

void BlockBasis::random_direction(const ConstBlock& Q, Eigen::Ref<Vector> y) {
  Matrix fresh(y.size(), 1);
  fill_normal(seed_, stream_, fresh, 0, kFirstRandomColumn + 2 * randoms_used_++);
  for (int pass = 0; pass < 3; ++pass) {
    fresh -= Q * (Q.transpose() * fresh).eval();
    fresh -= columns() * (columns().transpose() * fresh).eval();
    fresh /= fresh.norm();
  }
  y = fresh.col(0);
}

}  // namespace matapprox
