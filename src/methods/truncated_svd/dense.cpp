#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "methods/dense_matrix.hpp"
#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {

kernels::Svd svd_of_eigen(const kernels::SymmetricEigen& eigen) {
  const Index n = eigen.values.size();
  std::vector<Index> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
    return std::abs(eigen.values(i)) > std::abs(eigen.values(j));
  });
  kernels::Svd svd{Matrix(n, n), Vector(n), Matrix(n, n)};
  for (Index c = 0; c < n; ++c) {
    const Index from = order[static_cast<std::size_t>(c)];
    const double lambda = eigen.values(from);
    svd.S(c) = std::abs(lambda);
    svd.V.col(c) = eigen.vectors.col(from);
    svd.U.col(c) = lambda < 0 ? Vector(-svd.V.col(c)) : Vector(svd.V.col(c));
  }
  return svd;
}

kernels::Svd host_triplets(SvdOutcome outcome) {
  kernels::Svd triplets = std::move(outcome.triplets);
  if (outcome.placed) {
    triplets.U = to_host(outcome.placed->U.columns());
    triplets.V = to_host(outcome.placed->V.columns());
  }
  return triplets;
}

SvdOutcome dense_svd(const LinearOperator& A, bool symmetric, const RunControl& control) {
  Matrix values = dense_matrix(A, "truncated_svd", control);
  SvdOutcome outcome;
  outcome.triplets = symmetric ? svd_of_eigen(kernels::symmetric_eigen(std::move(values)))
                               : kernels::svd(std::move(values));
  return outcome;
}

}  // namespace matapprox
