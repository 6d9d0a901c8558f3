#include "methods/truncated_svd/krylov_space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "methods/checkpoints.hpp"
#include "methods/finite.hpp"

namespace matapprox {
namespace {

/// Number of values with the sign of `value` and a magnitude in lowest..highest.
Index count_between(const Vector& values, double value, double lowest, double highest) {
  return ((values * (value < 0 ? -1.0 : 1.0)).array() >= lowest &&
          (values * (value < 0 ? -1.0 : 1.0)).array() <= highest)
      .count();
}

}  // namespace

KrylovSpace::KrylovSpace(const LinearOperator& A, const KrylovSpaceOptions& options)
    : A_(A),
      right_(A.memory_space(),
             A.cols(),
             options.capacity + options.block,
             options.seed,
             RandomStream::kSketch),
      seed_(options.seed) {
  append_random(options.block);
}

void KrylovSpace::append_random(Index count) {
  right_.append(random_block(A_, seed_, randoms_used_, count));
  randoms_used_ += count;
}

void KrylovSpace::scale(MultiVector& Y) {
  const double unit = finite_unit_scale(Y, "truncated_svd");
  if (scale_ == 0.0) scale_ = unit;
  Y.space()->scale(Y.data(), Y.size(), scale_);
}

Vector KrylovSpace::residuals_of(const Matrix& coordinates) const {
  if (coupling_.size() == 0) return Vector::Zero(coordinates.cols());
  const Matrix tail = kernels::product(coupling_, coordinates.bottomRows(coupling_.cols()));
  return tail.colwise().norm().transpose();
}

void KrylovSpace::deflate(const RitzTriplets& triplets, Index keep, Index fresh) {
  keep_triplets(triplets, keep, 0);
  coupling_.resize(0, 0);
  append_random(fresh);
}

Vector KrylovSpace::values(const RitzTriplets& triplets, Index count) const {
  return triplets.values.head(count) / scale_;
}

kernels::Svd KrylovSpace::host_triplets(const RitzTriplets& triplets, Index count) const {
  const auto right = right_.columns(0, triplets.right.rows());
  return {product_to_host(left_basis(), triplets.left.leftCols(count)),
          values(triplets, count),
          product_to_host(right, triplets.right.leftCols(count))};
}

PlacedVectors KrylovSpace::placed_vectors(const RitzTriplets& triplets, Index count) const {
  const auto right = right_.columns(0, triplets.right.rows());
  return {product(left_basis(), triplets.left.leftCols(count)),
          product(right, triplets.right.leftCols(count))};
}

void KrylovSpace::save(ResumeState& state) const {
  save_basis(state);
  state.add_matrix("coupling", coupling_);
  state.arrays.emplace_back("scale", Vector::Constant(1, scale_));
  state.counters.emplace_back("multiplied", multiplied_);
  state.counters.emplace_back("randoms", randoms_used_);
}

void KrylovSpace::load(const ResumeState& state) {
  load_basis(state);
  coupling_ = state.matrix("coupling");
  multiplied_ = state.counter("multiplied");
  randoms_used_ = state.counter("randoms");
  const Vector& saved = state.array("scale");
  require_consistent(saved.size() == 1, "truncated_svd");
  scale_ = saved(0);
  int exponent = 0;
  const bool is_power_of_two = scale_ == 0 || std::frexp(scale_, &exponent) == 0.5;
  require_consistent(std::isfinite(scale_) && scale_ >= 0 && is_power_of_two && multiplied_ >= 0 &&
                         coupling_.allFinite() && randoms_used_ >= 0 &&
                         randoms_used_ <= kMaxRandoms && is_consistent(),
                     "truncated_svd");
}

SvdOutcome found_triplets(const LinearOperator& A,
                          const KrylovSpace& space,
                          const RitzTriplets& triplets,
                          Index count) {
  SvdOutcome found;
  if (A.memory_space()->is_distributed()) {
    found.triplets.S = space.values(triplets, count);
    found.placed = std::make_shared<const PlacedVectors>(space.placed_vectors(triplets, count));
  } else {
    found.triplets = space.host_triplets(triplets, count);
  }
  return found;
}

std::optional<bool> step_unless_stopped(KrylovSpace& space, const RunControl& control) {
  try {
    const StopScope scope(control, "truncated_svd");
    return space.step();
  } catch (const Interrupted&) {
    return std::nullopt;
  }
}

bool may_lack_copies(
    const Vector& found, const Vector& known, Index rank, Index width, double spread) {
  const Vector wanted = found.head(std::min(rank, found.size()));
  if (wanted.size() == 0) return false;
  const double least = std::abs(wanted(wanted.size() - 1));
  for (Index i = 0; i < wanted.size(); ++i) {
    const double highest = std::abs(wanted(i));
    if (highest <= least * (1 + spread)) break;
    const double lowest = highest * (1 - spread);
    const Index copies = count_between(wanted, wanted(i), lowest, highest);
    const Index before =
        count_between(known, wanted(i), lowest * (1 - spread), highest * (1 + spread));
    if (copies - before >= width) return true;
  }
  return false;
}

}  // namespace matapprox
