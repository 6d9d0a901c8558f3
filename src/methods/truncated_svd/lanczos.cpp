#include "matapprox/kernels/gemm.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

class LanczosSpace final : public KrylovSpace {
 public:
  LanczosSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
      : KrylovSpace(A, options) {}

  // Maintains T = P^T A P (its upper triangle), where P are the vectors multiplied so far, and the
  // coupling of the last block of P to the next block.
  bool step() override {
    const Index fresh = right_.size() - multiplied_;
    if (fresh == 0) return false;
    MultiVector Y = A_.apply(right_.columns(multiplied_, fresh));
    scale(Y);
    const Index before = right_.size();
    const Matrix column = right_.append(std::move(Y));
    projection_.conservativeResizeLike(Matrix::Zero(before, before));
    projection_.rightCols(fresh) = column.topRows(before);
    coupling_ = column.bottomRows(right_.size() - before);
    multiplied_ = before;
    return coupling_.rows() > 0;
  }

  Index size() const override { return multiplied_; }
  Index numbers() const override { return right_.numbers_of_a_copy(); }

  RitzTriplets ritz() const override {
    const Matrix lower = projection_.transpose();
    const kernels::SymmetricEigen eigen = kernels::symmetric_eigen(lower);
    const std::vector<Index> order = largest_first(eigen.values);
    RitzTriplets result;
    result.right = eigen.vectors(Eigen::all, order);
    result.eigenvalues = eigen.values(order);
    result.values = result.eigenvalues.cwiseAbs();
    const Vector signs = result.eigenvalues.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
    result.left = result.right * signs.asDiagonal();
    result.residuals = residuals_of(result.right);
    return result;
  }

  RitzTriplets projected() const override { return ritz(); }

  Vector projected_values() const override {
    return kernels::singular_values(projection_.selfadjointView<Eigen::Upper>());
  }

  void restart(const RitzTriplets& triplets, Index keep) override {
    coupling_ =
        kernels::product(coupling_, triplets.right.bottomRows(coupling_.cols()).leftCols(keep));
    keep_triplets(triplets, keep, right_.size() - multiplied_);
  }

 private:
  ConstMultiVectorView left_basis() const override { return right_.columns(0, multiplied_); }

  void keep_triplets(const RitzTriplets& triplets, Index keep, Index fresh) override {
    Matrix Q = Matrix::Zero(right_.size(), keep + fresh);
    Q.topLeftCorner(multiplied_, keep) = triplets.right.leftCols(keep);
    Q.bottomRightCorner(fresh, fresh).setIdentity();
    right_.rotate(Q);
    projection_ = triplets.eigenvalues.head(keep).asDiagonal();
    multiplied_ = keep;
  }

  void save_basis(ResumeState& state) const override {
    right_.save("basis", state);
    state.add_matrix("projection", projection_);
  }

  void load_basis(const ResumeState& state) override {
    right_.load("basis", state);
    projection_ = state.matrix("projection");
  }

  bool is_consistent() const override {
    return multiplied_ < right_.size() && projection_.rows() == multiplied_ &&
           projection_.cols() == multiplied_ && projection_.allFinite() &&
           coupling_.cols() <= multiplied_ &&
           (coupling_.size() == 0 || coupling_.rows() == right_.size() - multiplied_);
  }

  Matrix projection_;
};

}  // namespace

std::unique_ptr<KrylovSpace> lanczos_space(const LinearOperator& A,
                                           const KrylovSpaceOptions& options) {
  return std::make_unique<LanczosSpace>(A, options);
}

}  // namespace matapprox
