#include "matapprox/core/multi_vector.hpp"

#include <utility>

namespace matapprox {

MultiVector::MultiVector(std::shared_ptr<const MemorySpace> place, Index rows, Index cols)
    : place_(std::move(place)), rows_(rows), cols_(cols), data_(place_->allocate(rows * cols)) {}

MultiVector::MultiVector(std::shared_ptr<const MemorySpace> place, const ConstBlock& X)
    : MultiVector(std::move(place), X.rows(), X.cols()) {
  if (X.outerStride() == X.rows()) {
    place_->write(X.data(), X.size(), data_);
    return;
  }
  for (Index c = 0; c < X.cols(); ++c)
    place_->write(X.data() + c * X.outerStride(), X.rows(), data_ + c * rows_);
}

MultiVector::~MultiVector() {
  if (data_ != nullptr) place_->release(data_);
}

MultiVector::MultiVector(MultiVector&& other) noexcept
    : place_(std::move(other.place_)),
      rows_(std::exchange(other.rows_, 0)),
      cols_(std::exchange(other.cols_, 0)),
      data_(std::exchange(other.data_, nullptr)) {}

MultiVector& MultiVector::operator=(MultiVector&& other) noexcept {
  std::swap(place_, other.place_);
  std::swap(rows_, other.rows_);
  std::swap(cols_, other.cols_);
  std::swap(data_, other.data_);
  return *this;
}

MultiVectorView MultiVector::columns(Index first, Index count) {
  return {place_.get(), rows_, count, data_ + first * rows_};
}

ConstTallColumns MultiVector::columns(Index first, Index count) const {
  return {place_.get(), rows_, count, data_ + first * rows_};
}

Matrix to_host(const ConstTallColumns& X) {
  Matrix result(X.rows, X.cols);
  X.place->read(X.data, X.rows * X.cols, result.data());
  return result;
}

void copy(const ConstTallColumns& X, const MultiVectorView& Y) {
  X.place->copy(X.data, X.rows * X.cols, Y.data);
}

Matrix transpose_product(const ConstTallColumns& A, const ConstTallColumns& B) {
  return A.place->transpose_product(A.rows, A.data, A.cols, B.data, B.cols);
}

void add_product(double alpha,
                 const ConstTallColumns& A,
                 const ConstBlock& S,
                 double beta,
                 const MultiVectorView& Y) {
  A.place->add_product(A.rows, alpha, A.data, A.cols, S, beta, Y.data);
}

MultiVector product(const ConstTallColumns& A, const ConstBlock& S) {
  MultiVector result(A.place->shared_from_this(), A.rows, S.cols());
  add_product(1.0, A, S, 0.0, result.columns());
  return result;
}

Matrix product_to_host(const ConstTallColumns& A, const ConstBlock& S) {
  if (!A.place->on_host()) return to_host(product(A, S).columns());
  Matrix result(A.rows, S.cols());
  A.place->add_product(A.rows, 1.0, A.data, A.cols, S, 0.0, result.data());
  return result;
}

Vector column_norms(const ConstTallColumns& A) {
  return A.place->column_norms(A.rows, A.data, A.cols);
}

Eigen::Map<const Matrix> on_host(const ConstTallColumns& X) { return {X.data, X.rows, X.cols}; }
Eigen::Map<Matrix> on_host(const MultiVectorView& X) { return {X.data, X.rows, X.cols}; }

}  // namespace matapprox
