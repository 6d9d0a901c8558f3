#include <algorithm>
#include <cmath>
#include <numeric>

#include "matapprox/kernels/gemm.hpp"
#include "methods/checkpoints.hpp"
#include "methods/finite.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

class LanczosSpace final : public KrylovSpace {
 public:
  LanczosSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
      : A_(A),
        basis_(A.memory_space(),
               A.cols(),
               options.capacity + options.block,
               options.seed,
               RandomStream::kSketch),
        seed_(options.seed) {
    append_random(options.block);
  }

  // Maintains T = P^T A P (its upper triangle), where P are the vectors multiplied so far, and the
  // coupling of the last block of P to the next block.
  bool step() override {
    const Index fresh = basis_.size() - multiplied_;
    if (fresh == 0) return false;
    MultiVector Y = A_.apply(basis_.columns(multiplied_, fresh));
    const double unit = finite_unit_scale(Y, "truncated_svd");
    if (scale_ == 0.0) scale_ = unit;
    Y.space()->scale(Y.data(), Y.size(), scale_);
    const Index before = basis_.size();
    const Matrix column = basis_.append(std::move(Y));
    projection_.conservativeResizeLike(Matrix::Zero(before, before));
    projection_.rightCols(fresh) = column.topRows(before);
    coupling_ = column.bottomRows(basis_.size() - before);
    multiplied_ = before;
    return coupling_.rows() > 0;
  }

  Index size() const override { return multiplied_; }
  Index numbers() const override { return basis_.numbers_of_a_copy(); }

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
    result.eigenvalues = eigen.values(order);
    result.values = result.eigenvalues.cwiseAbs();
    const Vector signs = result.eigenvalues.unaryExpr([](double x) { return x < 0 ? -1.0 : 1.0; });
    result.left = result.right * signs.asDiagonal();
    result.residuals = Vector::Zero(multiplied_);
    if (coupling_.size() > 0) {
      const Matrix tail = kernels::product(coupling_, result.right.bottomRows(coupling_.cols()));
      result.residuals = tail.colwise().norm().transpose();
    }
    return result;
  }

  RitzTriplets projected() const override { return ritz(); }

  Vector projected_values() const override {
    return kernels::singular_values(projection_.selfadjointView<Eigen::Upper>());
  }

  void restart(const RitzTriplets& triplets, Index keep) override {
    coupling_ =
        kernels::product(coupling_, triplets.right.bottomRows(coupling_.cols()).leftCols(keep));
    keep_triplets(triplets, keep, basis_.size() - multiplied_);
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
    const auto multiplied = basis_.columns(0, triplets.right.rows());
    return {product_to_host(multiplied, triplets.left.leftCols(count)),
            values(triplets, count),
            product_to_host(multiplied, triplets.right.leftCols(count))};
  }

  PlacedVectors placed_vectors(const RitzTriplets& triplets, Index count) const override {
    const auto multiplied = basis_.columns(0, triplets.right.rows());
    return {product(multiplied, triplets.left.leftCols(count)),
            product(multiplied, triplets.right.leftCols(count))};
  }

  void save(ResumeState& state) const override {
    basis_.save("basis", state);
    state.add_matrix("projection", projection_);
    state.add_matrix("coupling", coupling_);
    state.arrays.emplace_back("scale", Vector::Constant(1, scale_));
    state.counters.emplace_back("multiplied", multiplied_);
    state.counters.emplace_back("randoms", randoms_used_);
  }

  void load(const ResumeState& state) override {
    basis_.load("basis", state);
    projection_ = state.matrix("projection");
    coupling_ = state.matrix("coupling");
    scale_ = saved_scale(state);
    multiplied_ = state.counter("multiplied");
    randoms_used_ = state.counter("randoms");
    require_consistent(
        multiplied_ >= 0 && multiplied_ < basis_.size() && projection_.rows() == multiplied_ &&
            projection_.cols() == multiplied_ && projection_.allFinite() && coupling_.allFinite() &&
            coupling_.cols() <= multiplied_ &&
            (coupling_.size() == 0 || coupling_.rows() == basis_.size() - multiplied_) &&
            randoms_used_ >= 0 && randoms_used_ <= kMaxRandoms,
        "truncated_svd");
  }

 private:
  /// Replaces the basis by the first `keep` triplets and the `fresh` columns not multiplied yet.
  void keep_triplets(const RitzTriplets& triplets, Index keep, Index fresh) {
    Matrix Q = Matrix::Zero(basis_.size(), keep + fresh);
    Q.topLeftCorner(multiplied_, keep) = triplets.right.leftCols(keep);
    Q.bottomRightCorner(fresh, fresh).setIdentity();
    basis_.rotate(Q);
    projection_ = triplets.eigenvalues.head(keep).asDiagonal();
    multiplied_ = keep;
  }

  void append_random(Index count) {
    basis_.append(random_block(A_, seed_, randoms_used_, count));
    randoms_used_ += count;
  }

  const LinearOperator& A_;
  BlockBasis basis_;
  std::uint64_t seed_;
  Index randoms_used_ = 0;
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
