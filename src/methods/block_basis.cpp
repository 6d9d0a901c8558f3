#include "methods/block_basis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "matapprox/core/require.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
/// First column of the random numbers of random directions; no sketch reaches it.
constexpr Index kFirstRandomColumn = Index{1} << 40;

/// Passes of orthogonalization, unless one changes the columns by less than this.
constexpr int kMaxPasses = 6;
constexpr double kSettled = 0.1;

/// Computes Y = Q R by the Cholesky factorization of the Gram matrix of the normalized columns and
/// replaces Y by Q, orthonormal to at least 1e-4, and to rounding after a second pass. Returns
/// false and leaves Y unchanged if the columns are dependent to more than 1e-6.
bool cholesky_qr(MultiVector& Y, Matrix& R, const Vector& entry_norms) {
  Matrix gram = transpose_product(Y.columns(), Y.columns());
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
  Y = product(Y.columns(), inverse.asDiagonal() * inverse_upper);
  R = lower.transpose() * norms.asDiagonal();
  return true;
}

/// Subtracts Q h from Y for h = Q^T Y and returns h.
Matrix take_off(const ConstMultiVectorView& Q, const MultiVectorView& Y) {
  if (Q.cols == 0) return Matrix::Zero(0, Y.cols);
  Matrix h = transpose_product(Q, Y);
  add_product(-1.0, Q, h, 1.0, Y);
  return h;
}

void scale(const MultiVectorView& Y, double factor) {
  Y.space->scale(Y.data, Y.rows * Y.cols, factor);
}

}  // namespace

BlockBasis::BlockBasis(std::shared_ptr<const MemorySpace> space,
                       Index n,
                       Index capacity,
                       std::uint64_t seed,
                       RandomStream stream)
    : values_(std::move(space), n, std::min(n, capacity)), seed_(seed), stream_(stream) {}

MultiVector BlockBasis::release() && {
  if (size_ == values_.cols()) return std::move(values_);
  MultiVector used(values_.space(), values_.rows(), size_);
  copy(columns(), used.columns());
  return used;
}

Matrix BlockBasis::append(MultiVector Y) {
  const Index randoms = randoms_used_;
  try {
    return append_at_once(std::move(Y));
  } catch (...) {
    randoms_used_ = randoms;
    throw;
  }
}

Matrix BlockBasis::append_at_once(MultiVector Y) {
  const Index width = std::min(Y.cols(), values_.cols() - size_);
  if (width == 0) return transpose_product(columns(), Y.columns());
  Matrix coefficients = Matrix::Zero(size_ + width, Y.cols());
  Matrix transform = Matrix::Identity(Y.cols(), Y.cols());  // given Y = current block * transform
  for (int pass = 0; pass < kMaxPasses; ++pass) {
    const Vector entry_norms = column_norms(Y.columns());
    if (size_ > 0) {
      const Matrix H = take_off(columns(), Y.columns());
      coefficients.topRows(size_) += kernels::product(H, transform);
    }
    const Matrix R = orthonormalize(Y, width, entry_norms);
    transform = kernels::product(R, transform);
    // The second pass is the last, unless columns of the first were mostly rounding errors.
    const Matrix change = R - Matrix::Identity(R.rows(), R.cols());
    if (pass > 0 && change.cwiseAbs().maxCoeff() <= kSettled) break;
  }
  coefficients.bottomRows(width) = transform;
  copy(Y.columns(0, width), values_.columns(size_, width));
  size_ += width;
  return coefficients;
}

void BlockBasis::rotate(const ConstBlock& Q) {
  const MultiVector rotated = product(columns(), Q);
  size_ = Q.cols();
  copy(rotated.columns(), values_.columns(0, size_));
}

void BlockBasis::save(const std::string& name, ResumeState& state) const {
  state.add_columns(name, columns());
  state.counters.emplace_back(name + "_rows", values_.rows());
  state.counters.emplace_back(name + "_cols", size_);
  state.counters.emplace_back(name + "_randoms", randoms_used_);
}

Index BlockBasis::numbers_of_a_copy() const {
  return values_.space()->is_distributed() ? 0 : values_.rows() * size_;
}

void BlockBasis::load(const std::string& name, const ResumeState& state) {
  const Index rows = state.counter(name + "_rows");
  const Index cols = state.counter(name + "_cols");
  const Index randoms = state.counter(name + "_randoms");
  const auto require_fit = [&](bool fits) {
    require(fits,
            "the state to resume does not match this basis of {} columns with {} rows",
            values_.cols(),
            values_.rows());
  };
  require_fit(rows == values_.rows() && cols >= 0 && cols <= values_.cols() && randoms >= 0 &&
              randoms < kFirstRandomColumn && state.array_size(name) == rows * cols);
  state.copy_array(name, values_.columns(0, cols));
  require_fit(std::isfinite(values_.space()->largest(values_.data(), rows * cols)));
  size_ = cols;
  randoms_used_ = randoms;
}

/// Replaces Y (n x b) by `width` orthonormal columns Q and returns R (width x b) with Y ~ Q R.
Matrix BlockBasis::orthonormalize(MultiVector& Y, Index width, const Vector& entry_norms) {
  Matrix R;
  if (width == Y.cols() && cholesky_qr(Y, R, entry_norms)) return R;
  return column_by_column(Y, width, entry_norms);
}

Matrix BlockBasis::column_by_column(MultiVector& Y, Index width, const Vector& entry_norms) {
  MultiVector Q(values_.space(), Y.rows(), width);
  Matrix R = Matrix::Zero(width, Y.cols());
  Index found = 0;
  for (Index c = 0; c < Y.cols(); ++c) {
    const MultiVectorView y = Y.columns(c, 1);
    for (int pass = 0; pass < 2; ++pass) {
      // The columns of Q are orthogonal to the basis only up to rounding. If y lies nearly in the
      // span of Q, subtracting them magnifies that rounding in every column, so y is projected
      // again.
      take_off(columns(), y);
      const Matrix h = take_off(std::as_const(Q).columns(0, found), y);
      R.col(c).head(found) += h;
    }
    const double norm = column_norms(y)(0);
    if (found < width && norm > 100.0 * kEpsilon * entry_norms(c) && norm > 0.0) {
      R(found, c) = norm;
      scale(y, 1.0 / norm);
      copy(y, Q.columns(found++, 1));
    }
  }
  for (; found < width; ++found)
    random_direction(std::as_const(Q).columns(0, found), Q.columns(found, 1));
  Y = std::move(Q);
  return R;
}

void BlockBasis::random_direction(const ConstMultiVectorView& Q, const MultiVectorView& y) {
  const Index column = kFirstRandomColumn + 2 * randoms_used_++;
  y.space->fill_normal(seed_, stream_, column, y.rows, 1, y.data);
  for (int pass = 0; pass < 3; ++pass) {
    take_off(Q, y);
    take_off(columns(), y);
    scale(y, 1.0 / column_norms(y)(0));
  }
}

}  // namespace matapprox
