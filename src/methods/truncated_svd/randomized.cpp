#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

/// Values this close have not been told apart by a few passes.
constexpr double kIndistinctAfterPasses = 1e-2;
/// 1 % of the error.
constexpr double kCertain = 0.01;
/// What is captured does not grow by less, relative to itself.
constexpr double kGrowthOfRounding = 1e-13;

/// Without a block size from the caller, the space has about 2 k + 44 dimensions: many small blocks
/// reach further into the spectrum than few large ones for the same number of columns multiplied.
Index default_block(Index rank, Index blocks) { return (2 * rank + 44 + blocks - 1) / blocks; }

/// Of the values after a step: the sum of the squares of the first `rank`, and of the others.
struct Captured {
  double wanted;
  double others;
};

Captured captured(const Vector& values, Index rank) {
  const double all = values.squaredNorm();
  const double wanted = values.head(std::min(rank, values.size())).squaredNorm();
  return {wanted, all - wanted};
}

/// Whether more passes would still lower the Frobenius error by more than 1 %. What is captured
/// grows by about the same factor less with every step, so the last two growths g1, g2 leave about
/// g2^2 / (g1 - g2) to come; the squared error is at least the squares of the values that the space
/// holds beyond the wanted ones.
bool still_growing(const std::vector<Captured>& steps) {
  if (steps.size() < 2) return true;
  const Captured& last = steps.back();
  const double growth = last.wanted - steps[steps.size() - 2].wanted;
  const double before = steps.size() > 2
                            ? steps[steps.size() - 2].wanted - steps[steps.size() - 3].wanted
                            : 2 * growth;
  const double allowed = 2 * kCertain * last.others;
  if (growth <= kGrowthOfRounding * last.wanted) return false;
  return growth >= before || growth * growth / (before - growth) > allowed;
}

struct OneSpace {
  SvdOutcome outcome;
  bool lacks_copies = false;
};

/// One space of `blocks` blocks; nothing if it was stopped early and `may_give_up`.
std::optional<OneSpace> one_space(const LinearOperator& A,
                                  bool symmetric,
                                  Index rank,
                                  Index block,
                                  Index blocks,
                                  std::uint64_t seed,
                                  bool may_give_up,
                                  const RunControl& control) {
  const Index least = std::min(A.rows(), A.cols());
  const KrylovSpaceOptions space_options{block, std::min(block * blocks, least + block), seed};
  const auto space =
      symmetric ? lanczos_space(A, space_options) : golub_kahan_space(A, space_options);
  SvdOutcome outcome;
  outcome.iterations = 0;
  bool growing = true;
  std::vector<Captured> last_steps;
  while (growing && outcome.iterations < blocks) {
    if (may_give_up && control.should_stop()) return std::nullopt;
    if (control.should_stop() && space->size() >= rank) {
      outcome.termination =
          control.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
      outcome.message = fmt::format("stopped after {} of {} blocks", outcome.iterations, blocks);
      break;
    }
    control.throw_if_stopped("truncated_svd");
    const std::optional<bool> grew = step_unless_stopped(*space, control);
    if (!grew) continue;  // the loop begins by asking whether to stop
    growing = *grew;
    ++outcome.iterations;
    if (growing && outcome.iterations + 3 > blocks && outcome.iterations < blocks) {
      last_steps.push_back(captured(space->projected_values(), rank));
    }
    if (control.progress) {
      control.progress({outcome.iterations,
                        -1,
                        static_cast<double>(outcome.iterations) / static_cast<double>(blocks)});
    }
  }
  // Once the space cannot grow, its own triplets are exact; else the last products refine them.
  const RitzTriplets ritz = growing ? space->projected() : space->ritz();
  outcome.triplets = space->vectors(ritz, rank);
  last_steps.push_back(captured(ritz.values, rank));
  if (growing && outcome.message.empty() && still_growing(last_steps)) {
    outcome.message =
        "the error may be more than 1 % above the least: more power_iterations lower it";
  }
  return OneSpace{
      std::move(outcome),
      growing && may_lack_copies(ritz.eigenvalues, {}, rank, block, kIndistinctAfterPasses)};
}

}  // namespace

SvdOutcome randomized_svd(const LinearOperator& A,
                          bool symmetric,
                          Index rank,
                          const TruncatedSvdOptions& options,
                          const RunControl& control) {
  const Index least = std::min(A.rows(), A.cols());
  // A step takes two passes in general, one if A is symmetric.
  const Index blocks = (options.power_iterations + 1) * (symmetric ? 2 : 1);
  Index block = options.block_size > 0 ? options.block_size : default_block(rank, blocks);
  block = std::min(std::max(block, (rank + blocks - 1) / blocks), least);
  OneSpace best = *one_space(A, symmetric, rank, block, blocks, options.seed, false, control);
  while (best.lacks_copies) {
    block = std::min(2 * block, least);
    std::optional<OneSpace> wider;
    if (best.outcome.termination == Termination::kCompleted) {
      wider = one_space(A, symmetric, rank, block, blocks, options.seed, true, control);
    }
    if (!wider) {
      if (best.outcome.termination == Termination::kCompleted) {
        best.outcome.termination =
            control.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
      }
      best.outcome.message += best.outcome.message.empty() ? "" : "; ";
      best.outcome.message += "copies of repeated values may be missing";
      break;
    }
    wider->outcome.iterations += best.outcome.iterations;
    best = std::move(*wider);
  }
  return std::move(best.outcome);
}

}  // namespace matapprox
