#include <fmt/format.h>

#include <algorithm>

#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"
#include "methods/truncated_svd/stoppable_step.hpp"

namespace matapprox {
namespace {

/// Without a block size from the caller, the space has about 2 k + 44 dimensions: many small blocks
/// reach further into the spectrum than few large ones for the same number of columns multiplied.
Index default_block(Index rank, Index blocks) { return (2 * rank + 44 + blocks - 1) / blocks; }

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
  const KrylovSpaceOptions space_options{
      block, std::min(block * blocks, least + block), options.seed};
  const auto space =
      symmetric ? lanczos_space(A, space_options) : golub_kahan_space(A, space_options);
  SvdOutcome outcome;
  outcome.iterations = 0;
  bool growing = true;
  while (growing && outcome.iterations < blocks) {
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
    if (control.progress) {
      control.progress({outcome.iterations,
                        -1,
                        static_cast<double>(outcome.iterations) / static_cast<double>(blocks)});
    }
  }
  // Once the space cannot grow, its own triplets are exact; else the last products refine them.
  outcome.triplets = space->vectors(growing ? space->projected() : space->ritz(), rank);
  return outcome;
}

}  // namespace matapprox
