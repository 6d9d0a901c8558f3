#include "methods/truncated_svd/krylov_space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "methods/checkpoints.hpp"

namespace matapprox {
namespace {

/// Number of values with the sign of `value` and a magnitude in lowest..highest.
Index count_between(const Vector& values, double value, double lowest, double highest) {
  return ((values * (value < 0 ? -1.0 : 1.0)).array() >= lowest &&
          (values * (value < 0 ? -1.0 : 1.0)).array() <= highest)
      .count();
}

}  // namespace

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

double saved_scale(const ResumeState& state) {
  const Vector& scale = state.array("scale");
  int exponent = 0;
  require_consistent(scale.size() == 1 && std::isfinite(scale(0)) && scale(0) >= 0 &&
                         (scale(0) == 0 || std::frexp(scale(0), &exponent) == 0.5),
                     "truncated_svd");
  return scale(0);
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
