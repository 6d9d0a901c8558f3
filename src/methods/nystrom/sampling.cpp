#include <algorithm>
#include <cmath>

#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/landmarks.hpp"
#include "methods/weighted_sample.hpp"

namespace matapprox {
namespace {

enum LandmarkDraw : Index { kUniformDraw = 1, kLeverageDraw = 2 };

std::vector<Index> first_ascending(std::vector<Index> order, Index k) {
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

}  // namespace

std::vector<Index> uniform_landmarks(Index n, Index k, std::uint64_t seed) {
  return first_ascending(weighted_order(Vector::Ones(n), seed, kUniformDraw), k);
}

std::vector<Index> leverage_landmarks(const LinearOperator& A,
                                      const Vector& diagonal,
                                      Index k,
                                      std::uint64_t seed,
                                      const RunControl& control) {
  const std::vector<Index> screening_run = uniform_landmarks(A.rows(), k, seed);
  control.throw_if_stopped("nystrom");
  const Matrix C = A.columns_at(screening_run);
  require_finite(C, "nystrom");
  const Matrix W = C(screening_run, Eigen::all);
  // A ~ B B^T from the preliminary sample; `missed` is the diagonal of the remainder.
  const Matrix B = kernels::product(C, inverse_root((W + W.transpose()) / 2, 1e-10).T);
  const Vector missed = (diagonal - row_squared_norms(B)).cwiseMax(0.0);
  const double min_ridge = 1e-12 * diagonal.sum() / static_cast<double>(A.rows());
  const double ridge = std::max(missed.sum() / static_cast<double>(k), min_ridge);
  // Score of row b: b (B^T B + ridge I)^-1 b^T + missed / ridge, at most 1.
  const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(kernels::transpose_product(B, B));
  const Vector weights = (eigen.values.cwiseMax(0.0).array() + ridge).rsqrt();
  const Matrix rotated = kernels::product(B, eigen.vectors * weights.asDiagonal());
  const Vector scores = (row_squared_norms(rotated) + missed / ridge).cwiseMin(1.0);
  return first_ascending(weighted_order(scores, seed, kLeverageDraw), k);
}

InverseRoot inverse_root(const Matrix& W, double tolerance) {
  const Vector scaling =
      W.diagonal().unaryExpr([](double w) { return w > 0 ? 1.0 / std::sqrt(w) : 1.0; });
  const kernels::SymmetricEigen eigen =
      kernels::symmetric_eigen(scaling.asDiagonal() * W * scaling.asDiagonal());
  const Index k = W.rows();
  const double largest = eigen.values(k - 1);
  Index rank = 0;
  while (rank < k && eigen.values(k - 1 - rank) > tolerance * largest) ++rank;
  if (!(largest > 0)) return {Matrix::Zero(k, k), largest < 0 || eigen.values(0) < 0 ? -1.0 : 0.0};
  // Zero columns keep T square, k x k as stored.
  Matrix T = Matrix::Zero(k, k);
  T.leftCols(rank) = scaling.asDiagonal() * eigen.vectors.rightCols(rank) *
                     eigen.values.tail(rank).cwiseSqrt().cwiseInverse().asDiagonal();
  return {std::move(T), eigen.values(0) / largest};
}

}  // namespace matapprox
