#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "matapprox/kernels/gemm.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {

std::vector<Index> largest_first(const Vector& values) {
  std::vector<Index> order = index_range(0, values.size());
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
    return std::abs(values(i)) > std::abs(values(j));
  });
  return order;
}

kernels::Svd svd_of_eigen(const kernels::SymmetricEigen& eigen) {
  const Index n = eigen.values.size();
  const std::vector<Index> order = largest_first(eigen.values);
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
  SvdOutcome outcome;
  if (A.cols() >= kernels::kTall * A.rows()) {
    // svd would transpose a copy, for which there may be no memory.
    outcome.triplets = kernels::svd(dense_transpose(A, "truncated_svd", control));
    std::swap(outcome.triplets.U, outcome.triplets.V);
    return outcome;
  }
  Matrix values = dense_matrix(A, "truncated_svd", control);
  outcome.triplets = symmetric ? svd_of_eigen(kernels::symmetric_eigen(std::move(values)))
                               : kernels::svd(std::move(values));
  return outcome;
}

namespace {

class GolubKahanSpace final : public KrylovSpace {
 public:
  GolubKahanSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
      : KrylovSpace(A, options),
        left_(A.memory_space(), A.rows(), options.capacity, options.seed, RandomStream::kCoSketch) {
  }

  // Maintains A P = U B (forward_ = B) and A^T U = V K (backward_ = K), where P are the right
  // vectors multiplied so far and V is P with the next block.
  bool step() override {
    // A step that was stopped between its two products continues with the second.
    if (!lacks_second_product() && !multiply_right()) return false;
    const Index first_left = backward_.cols();
    const Index fresh_left = left_.size() - first_left;
    MultiVector Z = A_.apply_transpose(left_.columns(first_left, fresh_left));
    scale(Z);
    const Matrix backward = right_.append(std::move(Z));
    backward_.conservativeResizeLike(Matrix::Zero(right_.size(), left_.size()));
    backward_.rightCols(fresh_left) = backward;
    coupling_ = backward.bottomRows(right_.size() - multiplied_);
    return coupling_.rows() > 0;
  }

  Index size() const override { return std::min(left_.size(), multiplied_); }
  Index numbers() const override { return left_.numbers_of_a_copy() + right_.numbers_of_a_copy(); }
  bool is_amid_a_step() const override { return lacks_second_product(); }

  RitzTriplets ritz() const override {
    const kernels::Svd small = kernels::svd(forward_);
    return {small.S, small.U, small.V, residuals_of(small.U), small.S};
  }

  RitzTriplets projected() const override {
    if (lacks_second_product()) return ritz();
    const kernels::Svd small = kernels::svd(backward_);
    return {small.S, small.V, small.U, {}, small.S};
  }

  Vector projected_values() const override {
    return kernels::singular_values(lacks_second_product() ? forward_ : backward_);
  }

  void restart(const RitzTriplets& triplets, Index keep) override {
    coupling_ =
        kernels::product(coupling_, triplets.left.bottomRows(coupling_.cols()).leftCols(keep));
    const Index fresh = right_.size() - multiplied_;
    keep_triplets(triplets, keep, fresh);
    backward_.bottomRows(fresh) = coupling_;
  }

 private:
  ConstMultiVectorView left_basis() const override { return left_.columns(); }

  /// The rows of backward_ for the fresh columns are zero.
  void keep_triplets(const RitzTriplets& triplets, Index keep, Index fresh) override {
    left_.rotate(triplets.left.leftCols(keep));
    Matrix Q = Matrix::Zero(right_.size(), keep + fresh);
    Q.topLeftCorner(multiplied_, keep) = triplets.right.leftCols(keep);
    Q.bottomRightCorner(fresh, fresh).setIdentity();
    right_.rotate(Q);
    multiplied_ = keep;
    forward_ = triplets.values.head(keep).asDiagonal();
    backward_ = Matrix::Zero(keep + fresh, keep);
    backward_.topRows(keep) = forward_;
  }

  void save_basis(ResumeState& state) const override {
    left_.save("left", state);
    right_.save("right", state);
    state.add_matrix("forward", forward_);
    state.add_matrix("backward", backward_);
  }

  void load_basis(const ResumeState& state) override {
    left_.load("left", state);
    right_.load("right", state);
    forward_ = state.matrix("forward");
    backward_ = state.matrix("backward");
  }

  bool is_consistent() const override {
    return multiplied_ <= right_.size() && forward_.rows() == left_.size() &&
           forward_.cols() == multiplied_ && backward_.cols() <= left_.size() &&
           backward_.rows() <= right_.size() &&
           (lacks_second_product() ||
            (backward_.rows() >= multiplied_ && multiplied_ < right_.size() &&
             (coupling_.size() == 0 || coupling_.rows() == right_.size() - multiplied_))) &&
           coupling_.cols() <= left_.size() && forward_.allFinite() && backward_.allFinite();
  }

  bool lacks_second_product() const { return backward_.cols() < left_.size(); }

  /// Makes the first product of a step. Returns false if it adds no left vector.
  bool multiply_right() {
    const Index fresh_right = right_.size() - multiplied_;
    if (fresh_right == 0) return false;
    MultiVector Y = A_.apply(right_.columns(multiplied_, fresh_right));
    scale(Y);
    const Index first_left = left_.size();
    const Matrix forward = left_.append(std::move(Y));
    forward_.conservativeResizeLike(Matrix::Zero(left_.size(), right_.size()));
    forward_.rightCols(fresh_right) = forward;
    multiplied_ = right_.size();
    const Index fresh_left = left_.size() - first_left;
    // Until the second product is known, a residual is bounded by |A| times the component of the
    // triplet in the new left vectors.
    coupling_ = 2 * forward_.norm() * Matrix::Identity(fresh_left, fresh_left);
    return fresh_left > 0;
  }

  BlockBasis left_;
  Matrix forward_;
  Matrix backward_;
};

}  // namespace

std::unique_ptr<KrylovSpace> golub_kahan_space(const LinearOperator& A,
                                               const KrylovSpaceOptions& options) {
  return std::make_unique<GolubKahanSpace>(A, options);
}

}  // namespace matapprox
