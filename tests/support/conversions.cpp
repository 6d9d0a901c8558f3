#include "support/conversions.hpp"

#include <variant>

namespace matapprox::test {

Matrix dense_of(const LinearOperator& A) { return A.apply(Matrix::Identity(A.cols(), A.cols())); }

Matrix dense_of(const FileMatrix& value) {
  if (const auto* A = std::get_if<Matrix>(&value)) return *A;
  return Matrix(std::get<SparseMatrix>(value));
}

SparseMatrix sparse_of(const Matrix& A) { return A.sparseView(); }

double frobenius_error(const Matrix& A, const LinearOperator& found) {
  return (A - dense_of(found)).norm();
}

}  // namespace matapprox::test
