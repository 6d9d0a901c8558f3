#include <fmt/format.h>

#include <algorithm>

#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"
#include "methods/truncated_svd/stoppable_step.hpp"

namespace matapprox {
namespace {

constexpr Index kMaxRestarts = 400;
/// Residuals relative to sigma_1 do not fall below rounding, whatever is asked for.
constexpr double kRounding = 1e-14;

/// How many of the first `rank` triplets meet |A^T u - sigma v| <= tolerance sigma, or the rounding
/// of the largest.
Index converged_triplets(const RitzTriplets& ritz, Index rank, double tolerance) {
  Index count = 0;
  for (Index i = 0; i < rank; ++i) {
    const double bound = std::max(tolerance * ritz.values(i), kRounding * ritz.values(0));
    if (ritz.residuals(i) <= bound) ++count;
  }
  return count;
}

KrylovSpaceOptions space_options(const LinearOperator& A,
                                 Index rank,
                                 const TruncatedSvdOptions& options) {
  const Index block = options.block_size > 0 ? options.block_size : 2;
  const Index capacity = 2 * rank + std::max<Index>(rank / 2, 24) + 4 * block;
  const Index whole = std::min(A.rows(), A.cols()) + block;
  return {block, std::min(capacity, whole), options.seed};
}

SvdOutcome finish(const KrylovSpace& space, const RitzTriplets& ritz, Index rank, Index steps) {
  SvdOutcome outcome;
  outcome.triplets = space.vectors(ritz, std::min(rank, ritz.values.size()));
  outcome.iterations = steps;
  outcome.termination = Termination::kConverged;
  return outcome;
}

}  // namespace

TallBlock random_block(const LinearOperator& A, const KrylovSpaceOptions& options) {
  const Index width = std::min(options.block, A.cols());
  return {A.block_place(),
          random_normal_matrix(options.seed, RandomStream::kSketch, A.cols(), width)};
}

SvdOutcome krylov_svd(const LinearOperator& A,
                      bool symmetric,
                      Index rank,
                      const TruncatedSvdOptions& options,
                      const RunControl& control) {
  const KrylovSpaceOptions space_size = space_options(A, rank, options);
  const auto space = symmetric ? lanczos_space(A, space_size) : golub_kahan_space(A, space_size);
  Index steps = 0;
  for (Index restarts = 0;; ++restarts) {
    bool growing = true;
    while (growing && !control.should_stop() &&
           space->size() + space_size.block <= space_size.capacity) {
      const std::optional<bool> grew = step_unless_stopped(*space, control);
      if (!grew) break;
      growing = *grew;
      ++steps;
    }
    if (space->size() < rank) control.throw_if_stopped("truncated_svd");
    const RitzTriplets ritz = space->ritz();
    const Index converged = growing ? converged_triplets(ritz, rank, options.tolerance) : rank;
    if (converged == rank) return finish(*space, ritz, rank, steps);
    if (control.should_stop() || restarts == kMaxRestarts) {
      SvdOutcome outcome = finish(*space, ritz, rank, steps);
      outcome.termination = control.interrupted()   ? Termination::kInterrupted
                            : control.should_stop() ? Termination::kMaxSeconds
                                                    : Termination::kMaxIterations;
      outcome.message = fmt::format("{} of {} singular triplets reached the residual {:g}",
                                    converged,
                                    rank,
                                    options.tolerance);
      return outcome;
    }
    if (control.progress) {
      control.progress({steps, -1, static_cast<double>(converged) / static_cast<double>(rank)});
    }
    // Keeping some triplets beyond the wanted ones speeds up the last of those.
    const Index keep = rank + std::max<Index>(converged / 2, (space->size() - rank) / 3);
    space->restart(ritz, std::min(keep, space->size() - 2 * space_size.block));
  }
}

}  // namespace matapprox
