#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "methods/checkpoints.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

/// Relative distance below which a few passes do not tell values apart.
constexpr double kIndistinctAfterPasses = 1e-2;
/// Least relative decrease of the error that justifies more passes: 1 %.
constexpr double kCertain = 0.01;
/// Relative growth of the captured squares that is only rounding.
constexpr double kGrowthOfRounding = 1e-13;

/// Block size unless the caller sets one: the space then has about 2 k + 44 dimensions. Many small
/// blocks reach further into the spectrum than few large ones for the same number of columns
/// multiplied.
Index default_block(Index rank, Index blocks) { return (2 * rank + 44 + blocks - 1) / blocks; }

/// Sums of the squares of the values after a step: of the first `rank` and of the others.
struct Captured {
  double wanted;
  double others;
};

Captured captured(const Vector& values, Index rank) {
  const double all = values.squaredNorm();
  const double wanted = values.head(std::min(rank, values.size())).squaredNorm();
  return {wanted, all - wanted};
}

/// True if more passes would still lower the Frobenius error by more than 1 %. The growth of the
/// captured squares falls by about the same factor in every step, so after the last two growths g1,
/// g2 about g2^2 / (g1 - g2) is still to come. The squared error is at least the sum of the squares
/// of the values in the space beyond the wanted ones.
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

class RandomizedSearch {
 public:
  RandomizedSearch(const LinearOperator& A,
                   bool symmetric,
                   Index rank,
                   const TruncatedSvdOptions& options,
                   const RunControl& control,
                   SvdCheckpoints& checkpoints)
      : A_(A),
        symmetric_(symmetric),
        rank_(rank),
        seed_(options.seed),
        control_(control),
        checkpoints_(checkpoints),
        least_(std::min(A.rows(), A.cols())),
        // A step takes two passes in general, one if A is symmetric.
        blocks_((options.power_iterations + 1) * (symmetric ? 2 : 1)) {
    block_ = options.block_size > 0 ? options.block_size : default_block(rank, blocks_);
    block_ = std::min(std::max(block_, (rank + blocks_ - 1) / blocks_), least_);
  }

  SvdOutcome run() {
    if (const ResumeState* state = checkpoints_.state()) {
      const Index block = state->counter("block");
      steps_before_ = state->counter("steps_before");
      while (block_ < block && block_ < least_) block_ = std::min(2 * block_, least_);
      // The state must have that many columns, so that it cannot request more memory than it takes
      // itself.
      require_consistent(block == block_ &&
                             state->counter(symmetric_ ? "basis_cols" : "right_cols") >= block &&
                             steps_before_ >= 0 && steps_before_ <= kMaxSteps,
                         "truncated_svd");
    }
    OneSpace best = *one_space(nullptr, checkpoints_.state());
    best.outcome.iterations += steps_before_;
    while (best.lacks_copies) {
      block_ = std::min(2 * block_, least_);
      std::optional<OneSpace> wider;
      if (best.outcome.termination == Termination::kCompleted) {
        steps_before_ = best.outcome.iterations;
        wider = one_space(&best.outcome, nullptr);
      }
      if (!wider) {
        if (best.outcome.termination == Termination::kCompleted) {
          best.outcome.termination =
              control_.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
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

 private:
  /// Builds one space of blocks_ blocks, or the rest of it from `state`. If there is an earlier
  /// outcome, returns nothing when stopped.
  std::optional<OneSpace> one_space(const SvdOutcome* earlier, const ResumeState* state) {
    const KrylovSpaceOptions size{block_, std::min(block_ * blocks_, least_ + block_), seed_};
    const auto space = symmetric_ ? lanczos_space(A_, size) : golub_kahan_space(A_, size);
    SvdOutcome outcome;
    outcome.iterations = 0;
    bool growing = true;
    std::vector<Captured> last_steps;
    if (state != nullptr) load(*state, *space, outcome.iterations, last_steps);
    while (growing && outcome.iterations < blocks_) {
      if (control_.should_stop() && space->size() > 0 && checkpoints_.are_wanted(space->numbers()))
        write_checkpoint(*space, earlier, outcome.iterations, last_steps);
      if (earlier != nullptr && control_.should_stop()) return std::nullopt;
      if (control_.should_stop() && space->size() >= rank_) {
        outcome.termination =
            control_.interrupted() ? Termination::kInterrupted : Termination::kMaxSeconds;
        outcome.message = fmt::format("stopped after {} of {} blocks", outcome.iterations, blocks_);
        break;
      }
      control_.throw_if_stopped("truncated_svd");
      const std::optional<bool> grew = step_unless_stopped(*space, control_);
      if (!grew) continue;  // the loop begins by checking for a stop
      growing = *grew;
      ++outcome.iterations;
      if (growing && outcome.iterations + 3 > blocks_ && outcome.iterations < blocks_) {
        last_steps.push_back(captured(space->projected_values(), rank_));
      }
      if (control_.progress) {
        control_.progress({outcome.iterations,
                           -1,
                           static_cast<double>(outcome.iterations) / static_cast<double>(blocks_)});
      }
      if (growing && checkpoints_.is_due(space->numbers()))
        write_checkpoint(*space, earlier, outcome.iterations, last_steps);
    }
    // Once the space cannot grow, its own triplets are exact; else the last products refine them.
    const RitzTriplets ritz = growing ? space->projected() : space->ritz();
    SvdOutcome found = found_triplets(A_, *space, ritz, std::min(rank_, ritz.values.size()));
    outcome.triplets = std::move(found.triplets);
    outcome.placed = std::move(found.placed);
    last_steps.push_back(captured(ritz.values, rank_));
    if (growing && outcome.message.empty() && still_growing(last_steps)) {
      outcome.message =
          "the error may be more than 1 % above the minimum: more power_iterations lower it";
    }
    return OneSpace{
        std::move(outcome),
        growing && may_lack_copies(ritz.eigenvalues, {}, rank_, block_, kIndistinctAfterPasses)};
  }

  void write_checkpoint(const KrylovSpace& space,
                        const SvdOutcome* earlier,
                        Index steps,
                        const std::vector<Captured>& last_steps) {
    ResumeState state;
    space.save(state);
    state.counters.emplace_back("block", block_);
    state.counters.emplace_back("steps", steps);
    state.counters.emplace_back("steps_before", steps_before_);
    Matrix sums(2, std::ssize(last_steps));
    for (Index i = 0; i < sums.cols(); ++i) {
      const Captured& step = last_steps[static_cast<std::size_t>(i)];
      sums.col(i) << step.wanted, step.others;
    }
    state.add_matrix("captured", sums);
    if (earlier != nullptr) return checkpoints_.write(*earlier, std::move(state));
    const RitzTriplets ritz = space.projected();
    SvdOutcome best = found_triplets(A_, space, ritz, std::min(rank_, ritz.values.size()));
    best.iterations = steps_before_ + steps;
    checkpoints_.write(best, std::move(state));
  }

  void load(const ResumeState& state,
            KrylovSpace& space,
            Index& steps,
            std::vector<Captured>& last_steps) const {
    space.load(state);
    steps = state.counter("steps");
    const Matrix sums = state.matrix("captured");
    require_consistent(
        space.size() > 0 && steps >= 0 && steps <= blocks_ && sums.rows() == 2 && sums.allFinite(),
        "truncated_svd");
    for (const auto& step : sums.colwise()) last_steps.push_back({step(0), step(1)});
  }

  const LinearOperator& A_;
  bool symmetric_;
  Index rank_;
  std::uint64_t seed_;
  const RunControl& control_;
  SvdCheckpoints& checkpoints_;
  Index least_;
  Index blocks_;
  Index block_ = 0;
  Index steps_before_ = 0;  ///< steps with smaller blocks
};

}  // namespace

SvdOutcome randomized_svd(const LinearOperator& A,
                          bool symmetric,
                          Index rank,
                          const TruncatedSvdOptions& options,
                          const RunControl& control,
                          SvdCheckpoints& checkpoints) {
  return RandomizedSearch(A, symmetric, rank, options, control, checkpoints).run();
}

}  // namespace matapprox
