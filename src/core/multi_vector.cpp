#include "matapprox/core/multi_vector.hpp"

#include <utility>

namespace matapprox {

void MemorySpace::read_rows(
    Index n, const double* A, Index a, Index first, Index count, double* host) const {
  for (Index c = 0; c < a; ++c) read(A + c * n + first, count, host + c * count);
}

void MemorySpace::write_rows(
    Index n, double* A, Index a, Index first, Index count, const double* host) const {
  for (Index c = 0; c < a; ++c) write(host + c * count, count, A + c * n + first);
}

MultiVector::MultiVector(std::shared_ptr<const MemorySpace> space, Index rows, Index cols)
    : space_(std::move(space)), rows_(rows), cols_(cols), data_(space_->allocate(rows, cols)) {}

MultiVector::MultiVector(std::shared_ptr<const MemorySpace> space, const ConstBlock& X)
    : MultiVector(std::move(space), X.rows(), X.cols()) {
  if (X.outerStride() == X.rows()) {
    space_->write(X.data(), X.size(), data_);
    return;
  }
  for (Index c = 0; c < X.cols(); ++c)
    space_->write(X.data() + c * X.outerStride(), X.rows(), data_ + c * rows_);
}

MultiVector::~MultiVector() {
  if (data_ != nullptr) space_->release(data_);
}

MultiVector::MultiVector(MultiVector&& other) noexcept
    : space_(std::move(other.space_)),
      rows_(std::exchange(other.rows_, 0)),
      cols_(std::exchange(other.cols_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

MultiVector& MultiVector::operator=(MultiVector&& other) noexcept {
  std::swap(space_, other.space_);
  std::swap(rows_, other.rows_);
  std::swap(cols_, other.cols_);
  std::swap(data_, other.data_);
  return *this;
}

MultiVectorView MultiVector::columns(Index first, Index count) {
  return {space_.get(), rows_, count, data_ + first * rows_};
}

ConstMultiVectorView MultiVector::columns(Index first, Index count) const {
  return {space_.get(), rows_, count, data_ + first * rows_};
}

Matrix to_host(const ConstMultiVectorView& X) {
  Matrix result(X.rows, X.cols);
  X.space->read(X.data, X.rows * X.cols, result.data());
  return result;
}

void copy(const ConstMultiVectorView& X, const MultiVectorView& Y) {
  X.space->copy(X.data, X.rows * X.cols, Y.data);
}

Matrix transpose_product(const ConstMultiVectorView& A, const ConstMultiVectorView& B) {
  return A.space->transpose_product(A.rows, A.data, A.cols, B.data, B.cols);
}

void add_product(double alpha,
                 const ConstMultiVectorView& A,
                 const ConstBlock& S,
                 double beta,
                 const MultiVectorView& Y) {
  A.space->add_product(A.rows, alpha, A.data, A.cols, S, beta, Y.data);
}

MultiVector product(const ConstMultiVectorView& A, const ConstBlock& S) {
  MultiVector result(A.space->shared_from_this(), A.rows, S.cols());
  add_product(1.0, A, S, 0.0, result.columns());
  return result;
}

Matrix product_to_host(const ConstMultiVectorView& A, const ConstBlock& S) {
  if (!A.space->on_host()) return to_host(product(A, S).columns());
  Matrix result(A.rows, S.cols());
  A.space->add_product(A.rows, 1.0, A.data, A.cols, S, 0.0, result.data());
  return result;
}

Vector column_norms(const ConstMultiVectorView& A) {
  return A.space->column_norms(A.rows, A.data, A.cols);
}

MultiVector random_normal_block(std::shared_ptr<const MemorySpace> space,
                                std::uint64_t seed,
                                RandomStream stream,
                                Index rows,
                                Index cols,
                                Index first_column) {
  MultiVector result(std::move(space), rows, cols);
  result.space()->fill_normal(seed, stream, first_column, rows, cols, result.data());
  return result;
}

Eigen::Map<const Matrix> on_host(const ConstMultiVectorView& X) { return {X.data, X.rows, X.cols}; }
Eigen::Map<Matrix> on_host(const MultiVectorView& X) { return {X.data, X.rows, X.cols}; }

}  // namespace matapprox
