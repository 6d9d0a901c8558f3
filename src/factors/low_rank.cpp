#include "factors/low_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {
namespace {

Matrix all_columns(const Factor& factor) {
  const FactorProduct one({factor});
  return one.columns_at(index_range(0, one.cols()));
}

}  // namespace

Index inner_size(const FactorProduct& B) {
  Index least = B.cols();
  for (const Factor& factor : B.factors()) least = std::min(least, factor_rows(factor));
  return least;
}

bool has_low_rank(const FactorProduct& B) {
  return B.factors().size() > 1 && factor_cols(B.factors().front()) < B.rows() &&
         factor_rows(B.factors().back()) < B.cols();
}

/// B = Q (Q^T B), Q an orthonormal basis of the columns of the first factor.
LowRankTriplets low_rank_triplets(const FactorProduct& B) {
  const Matrix Q = kernels::thin_qr(all_columns(B.factors().front()));
  kernels::Svd svd = kernels::svd(B.apply_transpose(Q));
  return {kernels::product(Q, svd.V), std::move(svd.S), std::move(svd.U)};
}

Vector low_rank_values(const FactorProduct& B) {
  const Matrix Q = kernels::thin_qr(all_columns(B.factors().front()));
  return kernels::singular_values(B.apply_transpose(Q));
}

/// (B + B^T)/2 lies in the span of the columns of the first factor and the rows of the last.
LowRankEigen low_rank_eigen(const FactorProduct& B, Index count) {
  Matrix basis = all_columns(B.factors().front());
  if (B.symmetrized() || !B.known_facts().symmetric.value_or(false)) {
    Factor last = B.factors().back();
    last.transposed = !last.transposed;
    const Matrix R = all_columns(last);
    basis.conservativeResize(Eigen::NoChange, basis.cols() + R.cols());
    basis.rightCols(R.cols()) = R;
  }
  // There are at most n orthonormal columns.
  const Matrix Q = basis.cols() < basis.rows() ? kernels::thin_qr(std::move(basis))
                                               : Matrix::Identity(B.rows(), B.rows());
  const Matrix T = kernels::transpose_product(Q, B.apply(Q));
  const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(0.5 * (T + T.transpose()));

  std::vector<Index> order(static_cast<std::size_t>(eigen.values.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return std::abs(eigen.values(a)) > std::abs(eigen.values(b));
  });
  order.resize(static_cast<std::size_t>(std::min<Index>(count, eigen.values.size())));
  return {kernels::product(Q, eigen.vectors(Eigen::all, order)), eigen.values(order)};
}

}  // namespace matapprox
