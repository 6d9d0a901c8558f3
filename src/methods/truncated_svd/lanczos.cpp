#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/gemm.hpp"
#include "methods/finite.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

class LanczosSpace final : public KrylovSpace {
 public:
  LanczosSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
      : A_(A),
        basis_(A.block_place(),
               A.cols(),
               options.capacity + options.block,
               options.seed,
               RandomStream::kSketch) {
    basis_.append(random_block(A, options));
  }

  // With P the vectors multiplied so far, keeps T = P^T A P (its upper triangle) and the coupling
  // of the last block of P to the block that comes next.
  bool step() override {
    const Index fresh = basis_.size() - multiplied_;
    if (fresh == 0) return false;
    TallBlock Y = A_.apply(basis_.columns(multiplied_, fresh));
    const double unit = finite_unit_scale(Y, "truncated_svd");
    if (scale_ == 0.0) scale_ = unit;
    Y.place()->scale(Y.data(), Y.size(), scale_);
    const Index before = basis_.size();
    const Matrix column = basis_.append(std::move(Y));
    projection_.conservativeResizeLike(Matrix::Zero(before, before));
    projection_.rightCols(fresh) = column.topRows(before);
    coupling_ = column.bottomRows(basis_.size() - before);
    multiplied_ = before;
    return coupling_.rows() > 0;
  }

  Index size() const override { return multiplied_; }

  RitzTriplets ritz() const override {
    const Matrix lower = projection_.transpose();
    const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(lower);
    std::vector<Index> order(static_cast<std::size_t>(multiplied_));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
      return std::abs(eigen.values(i)) > std::abs(eigen.values(j));
    });
    RitzTriplets result;
    result.right = eigen.vectors(Eigen::all, order);
    const Vector values = eigen.values(order);
    result.values = values.cwiseAbs();
    result.left =
        result.right * values.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; }).asDiagonal();
    result.residuals = Vector::Zero(multiplied_);
    if (coupling_.size() > 0) {
      const Matrix tail = kernels::product(coupling_, result.right.bottomRows(coupling_.cols()));
      result.residuals = tail.colwise().norm().transpose();
    }
    return result;
  }

  RitzTriplets projected() const override { return ritz(); }

  void restart(const RitzTriplets& triplets, Index keep) override {
    const Index fresh = basis_.size() - multiplied_;
    Matrix Q = Matrix::Zero(basis_.size(), keep + fresh);
    Q.topLeftCorner(multiplied_, keep) = triplets.right.leftCols(keep);
    Q.bottomRightCorner(fresh, fresh).setIdentity();
    basis_.rotate(Q);
    const Vector signs = triplets.left.leftCols(keep)
                             .cwiseProduct(triplets.right.leftCols(keep))
                             .colwise()
                             .sum()
                             .transpose();
    projection_ = triplets.values.head(keep).cwiseProduct(signs).asDiagonal();
    multiplied_ = keep;
  }

  kernels::Svd vectors(const RitzTriplets& triplets, Index count) const override {
    const auto multiplied = basis_.columns(0, triplets.right.rows());
    return {product_to_host(multiplied, triplets.left.leftCols(count)),
            triplets.values.head(count) / scale_,
            product_to_host(multiplied, triplets.right.leftCols(count))};
  }

 private:
  const LinearOperator& A_;
  BlockBasis basis_;
  Index multiplied_ = 0;
  Matrix projection_;
  Matrix coupling_;
  double scale_ = 0;
};

}  // namespace

std::unique_ptr<KrylovSpace> lanczos_space(const LinearOperator& A,
                                           const KrylovSpaceOptions& options) {
  return std::make_unique<LanczosSpace>(A, options);
}

}  // namespace matapprox
