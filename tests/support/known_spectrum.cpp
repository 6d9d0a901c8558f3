#include "support/known_spectrum.hpp"

#include <Eigen/QR>
#include <cmath>
#include <vector>

#include "matapprox/core/random.hpp"

namespace matapprox::test {

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
}

Matrix random_orthonormal(Index n, Index k, std::uint64_t seed) {
  const Eigen::HouseholderQR<Matrix> qr(random_matrix(n, k, seed));
  return qr.householderQ() * Matrix::Identity(n, k);
}

Matrix with_singular_values(Index m, Index n, const Vector& sigma, std::uint64_t seed) {
  const Index k = sigma.size();
  return random_orthonormal(m, k, seed) * sigma.asDiagonal() *
         random_orthonormal(n, k, seed + 1).transpose();
}

Matrix with_eigenvalues(const Vector& lambda, std::uint64_t seed) {
  const Matrix U = random_orthonormal(lambda.size(), lambda.size(), seed);
  const Matrix A = U * lambda.asDiagonal() * U.transpose();
  return (A + A.transpose()) / 2;
}

Vector harmonic_spectrum(Index n) {
  return Vector::NullaryExpr(n, [](Index i) { return 1.0 / static_cast<double>(i + 1); });
}

Vector geometric_spectrum(Index n, double base) {
  return Vector::NullaryExpr(n,
                             [base](Index i) { return std::pow(base, -static_cast<double>(i)); });
}

Vector step_spectrum(Index n, Index head, double tail) {
  Vector sigma = Vector::Constant(n, tail);
  sigma.head(head).setOnes();
  return sigma;
}

double tail_norm(const Vector& sigma, Index k) { return sigma.tail(sigma.size() - k).stableNorm(); }

SparseMatrix random_sparse(Index rows, Index cols, Index per_row, std::uint64_t seed) {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < rows; ++i) {
    for (Index k = 0; k < per_row; ++k) {
      entries.emplace_back(i,
                           random_index(seed, RandomStream::kGenerator, i, 2 * k, cols),
                           random_normal(seed, RandomStream::kGenerator, i, 2 * k + 1));
    }
  }
  SparseMatrix A(rows, cols);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

SparseMatrix grid_laplacian(Index width) {
  std::vector<Eigen::Triplet<double, Index>> entries;
  for (Index i = 0; i < width * width; ++i) {
    entries.emplace_back(i, i, 4.0);
    if (i % width + 1 < width) {
      entries.emplace_back(i, i + 1, -1.0);
      entries.emplace_back(i + 1, i, -1.0);
    }
    if (i + width < width * width) {
      entries.emplace_back(i, i + width, -1.0);
      entries.emplace_back(i + width, i, -1.0);
    }
  }
  SparseMatrix A(width * width, width * width);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

}  // namespace matapprox::test
