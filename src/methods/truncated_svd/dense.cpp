#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/kernels/gemm.hpp"
#include "methods/checkpoints.hpp"
#include "methods/dense_matrix.hpp"
#include "methods/finite.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

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

namespace {

class GolubKahanSpace final : public KrylovSpace {
 public:
  GolubKahanSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
      : A_(A),
        left_(A.memory_space(), A.rows(), options.capacity, options.seed, RandomStream::kCoSketch),
        right_(A.memory_space(),
               A.cols(),
               options.capacity + options.block,
               options.seed,
               RandomStream::kSketch),
        seed_(options.seed) {
    append_random(options.block);
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
    Vector residuals = Vector::Zero(small.S.size());
    if (coupling_.size() > 0) {
      const Matrix tail = kernels::product(coupling_, small.U.bottomRows(coupling_.cols()));
      residuals = tail.colwise().norm().transpose();
    }
    return {small.S, small.U, small.V, residuals, small.S};
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

  void deflate(const RitzTriplets& triplets, Index keep, Index fresh) override {
    keep_triplets(triplets, keep, 0);
    coupling_.resize(0, 0);
    append_random(fresh);
  }

  Vector values(const RitzTriplets& triplets, Index count) const override {
    return triplets.values.head(count) / scale_;
  }

  kernels::Svd host_triplets(const RitzTriplets& triplets, Index count) const override {
    const auto right = right_.columns(0, triplets.right.rows());
    return {product_to_host(left_.columns(), triplets.left.leftCols(count)),
            values(triplets, count),
            product_to_host(right, triplets.right.leftCols(count))};
  }

  PlacedVectors placed_vectors(const RitzTriplets& triplets, Index count) const override {
    const auto right = right_.columns(0, triplets.right.rows());
    return {product(left_.columns(), triplets.left.leftCols(count)),
            product(right, triplets.right.leftCols(count))};
  }

  void save(ResumeState& state) const override {
    left_.save("left", state);
    right_.save("right", state);
    state.add_matrix("forward", forward_);
    state.add_matrix("backward", backward_);
    state.add_matrix("coupling", coupling_);
    state.arrays.emplace_back("scale", Vector::Constant(1, scale_));
    state.counters.emplace_back("multiplied", multiplied_);
    state.counters.emplace_back("randoms", randoms_used_);
  }

  void load(const ResumeState& state) override {
    left_.load("left", state);
    right_.load("right", state);
    forward_ = state.matrix("forward");
    backward_ = state.matrix("backward");
    coupling_ = state.matrix("coupling");
    scale_ = saved_scale(state);
    multiplied_ = state.counter("multiplied");
    randoms_used_ = state.counter("randoms");
    require_consistent(
        multiplied_ >= 0 && multiplied_ <= right_.size() && forward_.rows() == left_.size() &&
            forward_.cols() == multiplied_ && backward_.cols() <= left_.size() &&
            backward_.rows() <= right_.size() &&
            (lacks_second_product() ||
             (backward_.rows() >= multiplied_ && multiplied_ < right_.size() &&
              (coupling_.size() == 0 || coupling_.rows() == right_.size() - multiplied_))) &&
            coupling_.cols() <= left_.size() && forward_.allFinite() && backward_.allFinite() &&
            coupling_.allFinite() && randoms_used_ >= 0 && randoms_used_ <= kMaxRandoms,
        "truncated_svd");
  }

 private:
  /// Replaces the bases by the first `keep` triplets and, on the right, the `fresh` columns not
  /// multiplied yet, whose rows of backward_ are zero.
  void keep_triplets(const RitzTriplets& triplets, Index keep, Index fresh) {
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

  void append_random(Index count) {
    right_.append(random_block(A_, seed_, randoms_used_, count));
    randoms_used_ += count;
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

  void scale(MultiVector& Y) {
    const double unit = finite_unit_scale(Y, "truncated_svd");
    if (scale_ == 0.0) scale_ = unit;
    Y.space()->scale(Y.data(), Y.size(), scale_);
  }

  const LinearOperator& A_;
  BlockBasis left_;
  BlockBasis right_;
  std::uint64_t seed_;
  Index randoms_used_ = 0;
  Index multiplied_ = 0;
  Matrix forward_;
  Matrix backward_;
  Matrix coupling_;
  double scale_ = 0;
};

}  // namespace

std::unique_ptr<KrylovSpace> golub_kahan_space(const LinearOperator& A,
                                               const KrylovSpaceOptions& options) {
  return std::make_unique<GolubKahanSpace>(A, options);
}

}  // namespace matapprox
