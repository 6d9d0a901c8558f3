#include "matapprox/attention/projected_softmax.hpp"

#include <cmath>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::attention {

Matrix softmax_map(const Matrix& Q, const Matrix& K) {
  require(Q.cols() == K.cols() && Q.cols() >= 1,
          "softmax_map: Q is {} x {}, K {} x {}",
          Q.rows(),
          Q.cols(),
          K.rows(),
          K.cols());
  Matrix S = Q * K.transpose() / std::sqrt(static_cast<double>(Q.cols()));
  for (Index i = 0; i < S.rows(); ++i) {
    S.row(i) = (S.row(i).array() - S.row(i).maxCoeff()).exp().matrix();
    S.row(i) /= S.row(i).sum();
  }
  return S;
}

ProjectedSoftmaxErrors projected_softmax_errors(const Matrix& Q,
                                                const Matrix& K,
                                                const Matrix& V,
                                                Index k,
                                                std::span<const double> deltas,
                                                std::uint64_t seed) {
  const Index n = K.rows();
  require(V.rows() == n, "projected_softmax: K has {} rows, V {}", n, V.rows());
  require(k >= 1, "projected_softmax: k = {} is below 1", k);
  const Matrix R = random_normal_matrix(seed, RandomStream::kJlProjection, k, n) /
                   std::sqrt(static_cast<double>(k));
  const Matrix P = softmax_map(Q, K);
  const Matrix exact = P * V;
  const Matrix RV = R * V;
  const Matrix off = P * (R.transpose() * RV) - exact;
  ProjectedSoftmaxErrors errors;
  errors.k = k;
  errors.product = off.norm() / exact.norm();
  const Vector rows = P.rowwise().norm();
  const Vector columns = V.colwise().norm();
  errors.pair =
      (rows.cwiseInverse().asDiagonal() * off * columns.cwiseInverse().asDiagonal()).norm() /
      std::sqrt(static_cast<double>(off.size()));
  const Matrix RK = R * K;
  for (const double delta : deltas) {
    require(std::isfinite(delta), "projected_softmax: delta {} is not finite", delta);
    const Matrix constructed = softmax_map(Q, delta * RK) * (std::exp(-delta) * RV);
    errors.constructed.push_back((constructed - exact).norm() / exact.norm());
  }
  return errors;
}

}  // namespace matapprox::attention
