#include <algorithm>
#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/eigenpairs.hpp"

namespace matapprox {

SmallestEigenvalue smallest_eigenvalue(const LinearOperator& A,
                                       const SmallestEigenvalueOptions& options) {
  const Index n = A.rows();
  require(n > 0 && A.cols() == n,
          "smallest eigenvalue: the matrix is {} x {}, not square",
          A.rows(),
          A.cols());
  require(A.known_facts().symmetric.value_or(true),
          "smallest eigenvalue: the matrix is not symmetric");
  require(options.max_products >= 1,
          "smallest eigenvalue: max_products {} is not at least 1",
          options.max_products);
  const Index most = std::min(n, options.max_products);
  Matrix V(n, most);
  Matrix T = Matrix::Zero(most, most);
  Vector next = random_normal_matrix(options.seed, RandomStream::kSketch, n, 1);
  double beta = 0;
  SmallestEigenvalue found;
  for (Index j = 0; j < most; ++j) {
    V.col(j) = next / next.norm();
    next = A.apply(V.col(j));
    if (!next.allFinite()) throw NumericalError("smallest eigenvalue: a product holds NaN or Inf");
    T(j, j) = V.col(j).dot(next);
    for (int pass = 0; pass < 2; ++pass)
      next -= V.leftCols(j + 1) * (V.leftCols(j + 1).transpose() * next);
    beta = next.norm();
    const kernels::SymmetricEigen ritz = kernels::symmetric_eigen(T.topLeftCorner(j + 1, j + 1));
    found.largest_modulus = ritz.values.cwiseAbs().maxCoeff();
    found.value = ritz.values(0);
    found.residual = beta * std::abs(ritz.vectors(j, 0));
    found.products = j + 1;
    const double rounding = 1e-14 * std::max(found.largest_modulus, beta);
    if (beta <= rounding ||
        found.residual <= std::max(options.tolerance * std::abs(found.value), rounding))
      break;
    if (j + 1 < most) T(j + 1, j) = T(j, j + 1) = beta;
  }
  return found;
}

}  // namespace matapprox
