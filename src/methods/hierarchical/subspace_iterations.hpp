#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "matapprox/core/random.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox::blocks {

struct ScaledTriplets {
  Matrix scaled_left;  ///< U diag(sigma)
  Vector sigma;
  Matrix right;
};

/// Leading triplets by subspace iterations [HMT11, algorithm 4.4]. The first ones start from random
/// columns, the next ones from the right vectors of the matrix before, which differs in few
/// entries.
class SubspaceIterations {
 public:
  explicit SubspaceIterations(std::uint64_t seed) : seed_(seed) {}

  ScaledTriplets leading(const Matrix& A, Index rank) {
    const Index width = std::min({rank + kOversampling, A.rows(), A.cols()});
    const int iterations = right_.size() == 0 ? kFirstIterations : kNextIterations;
    const Index known = std::min(right_.cols(), width);
    Matrix start = random_normal_matrix(seed_, RandomStream::kOutliers, A.cols(), width);
    start.leftCols(known) = right_.leftCols(known);
    Matrix left;
    Matrix core;  // the factor R of A^T left
    for (int k = 0; k < iterations; ++k) {
      left = kernels::thin_qr(kernels::product(A, start));
      start = kernels::thin_qr(kernels::transpose_product(A, left), &core);
    }
    const kernels::Svd svd = kernels::svd(std::move(core));
    right_ = kernels::product(start, svd.U);
    const Index found = std::min(rank, width);
    const Matrix V = svd.V.leftCols(found) * svd.S.head(found).asDiagonal();
    return {kernels::product(left, V), svd.S.head(found), right_.leftCols(found)};
  }

 private:
  static constexpr Index kOversampling = 8;
  static constexpr int kFirstIterations = 3;
  /// If there is only one, a few entries are separated that do not stand out.
  static constexpr int kNextIterations = 2;

  std::uint64_t seed_;
  Matrix right_;
};

}  // namespace matapprox::blocks
