#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "methods/checkpoints.hpp"
#include "methods/truncated_svd/algorithms.hpp"
#include "methods/truncated_svd/krylov_space.hpp"

namespace matapprox {
namespace {

constexpr Index kMaxRestarts = 400;
/// Least bound on residuals relative to sigma_1, whatever the tolerance: they do not fall below
/// rounding.
constexpr double kRounding = 1e-14;
/// Relative distance below which values may have converged to a mixture of copies; residuals of
/// 1e-10 tell other values apart.
constexpr double kMinSpreadOfCopies = 1e-6;
/// The largest value of the deflated matrix is known once its residual is at most this fraction of
/// its distance from the least value found.
constexpr double kSureOfTheRest = 1e-3;

/// Number of the first `rank` triplets with |A^T u - sigma v| at most tolerance sigma, or at most
/// the rounding of the largest.
Index converged_triplets(const RitzTriplets& ritz, Index rank, double tolerance) {
  Index count = 0;
  for (Index i = 0; i < rank; ++i) {
    const double bound = std::max(tolerance * ritz.values(i), kRounding * ritz.values(0));
    if (ritz.residuals(i) <= bound) ++count;
  }
  return count;
}

/// True if the largest value after the first `rank` is certain to be no larger than the least of
/// them. It is the norm of A without those triplets, as far as a new Krylov space shows.
bool rest_is_known(const RitzTriplets& ritz, Index rank, double tolerance) {
  if (ritz.values.size() <= rank) return false;
  const double least = ritz.values(rank - 1);
  return ritz.residuals(rank) <= std::max({kSureOfTheRest * (least - ritz.values(rank)),
                                           tolerance * least,
                                           kRounding * ritz.values(0)});
}

class KrylovSearch {
 public:
  KrylovSearch(const LinearOperator& A,
               bool symmetric,
               Index rank,
               const TruncatedSvdOptions& options,
               const RunControl& control,
               SvdCheckpoints& checkpoints)
      : A_(A),
        rank_(rank),
        tolerance_(options.tolerance),
        control_(control),
        checkpoints_(checkpoints) {
    width_ = options.block_size > 0 ? options.block_size : 2;
    const Index capacity = 2 * rank + std::max<Index>(rank / 2, 24) + 4 * width_;
    capacity_ = std::min(capacity, std::min(A.rows(), A.cols()) + width_);
    const KrylovSpaceOptions size{width_, capacity_, options.seed};
    space_ = symmetric ? lanczos_space(A, size) : golub_kahan_space(A, size);
    if (checkpoints_.state() != nullptr) load(*checkpoints_.state());
  }

  /// Runs the first search, and then searches in the deflated matrix, from twice as many random
  /// columns each time after the first of these, until no copy can be missing.
  SvdOutcome run() {
    for (; search(); ++round_, restarts_ = 0) {
      const Vector found = ritz_.eigenvalues.head(std::min(rank_, ritz_.eigenvalues.size()));
      const double spread = std::max(kMinSpreadOfCopies, 2 * tolerance_);
      if (exact_ || !may_lack_copies(found, known_, rank_, width_, spread)) break;
      known_ = found;
      if (round_ > 0) widen();
      space_->deflate(ritz_, rank_, width_);
    }
    return outcome();
  }

 private:
  /// Widens the blocks within the same memory, which must also hold the next block.
  void widen() {
    const Index more = std::min(width_, std::max<Index>(0, (capacity_ - rank_) / 4 - width_));
    width_ += more;
    capacity_ -= more;
  }

  bool has_room() const { return space_->size() + width_ <= capacity_ || space_->is_amid_a_step(); }

  /// Grows and restarts the space until the first `rank` triplets have converged and, after the
  /// first round, the largest value of the rest is known. Returns false if it was stopped before.
  bool search() {
    for (;; ++restarts_) {
      while (!exact_ && !control_.should_stop() && has_room()) {
        const std::optional<bool> grew = step_unless_stopped(*space_, control_);
        if (!grew) break;
        exact_ = !*grew;
        ++steps_;
        if (!exact_ && checkpoints_.is_due(space_->numbers())) write_checkpoint();
      }
      if (control_.should_stop() && !exact_ && space_->size() > 0 &&
          checkpoints_.are_wanted(space_->numbers()))
        write_checkpoint();
      if (space_->size() < rank_) control_.throw_if_stopped("truncated_svd");
      ritz_ = space_->ritz();
      const Index converged = exact_ ? rank_ : converged_triplets(ritz_, rank_, tolerance_);
      const bool certain = exact_ || round_ == 0 || rest_is_known(ritz_, rank_, tolerance_);
      if (converged == rank_ && certain) return true;
      if (control_.should_stop() || restarts_ == kMaxRestarts) {
        stopped(converged);
        return false;
      }
      if (control_.progress) {
        control_.progress(
            {steps_, -1, static_cast<double>(converged) / static_cast<double>(rank_)});
      }
      // Keeping some triplets beyond the wanted ones speeds up the last of the wanted ones.
      const Index keep = rank_ + std::max<Index>(converged / 2, (space_->size() - rank_) / 3);
      space_->restart(ritz_, std::min(keep, space_->size() - 2 * width_));
    }
  }

  void stopped(Index converged) {
    termination_ = control_.interrupted()   ? Termination::kInterrupted
                   : control_.should_stop() ? Termination::kMaxSeconds
                                            : Termination::kMaxIterations;
    message_ = converged == rank_
                   ? "the triplets converged, but copies of repeated values may be missing"
                   : fmt::format("{} of {} singular triplets reached the residual {:g}",
                                 converged,
                                 rank_,
                                 tolerance_);
  }

  SvdOutcome outcome() const { return outcome_of(ritz_); }

  SvdOutcome outcome_of(const RitzTriplets& ritz) const {
    SvdOutcome found = found_triplets(A_, *space_, ritz, std::min(rank_, ritz.values.size()));
    found.iterations = steps_;
    found.termination = termination_;
    found.message = message_;
    return found;
  }

  void write_checkpoint() const {
    ResumeState state;
    space_->save(state);
    for (const auto& [name, count] : {std::pair("width", width_),
                                      std::pair("capacity", capacity_),
                                      std::pair("round", round_),
                                      std::pair("restarts", restarts_),
                                      std::pair("steps", steps_)})
      state.counters.emplace_back(name, count);
    state.arrays.emplace_back("known", known_);
    checkpoints_.write(outcome_of(space_->ritz()), std::move(state));
  }

  void load(const ResumeState& state) {
    space_->load(state);
    const Index width = state.counter("width");
    const Index capacity = state.counter("capacity");
    round_ = state.counter("round");
    restarts_ = state.counter("restarts");
    steps_ = state.counter("steps");
    known_ = state.array("known");
    for (Index before = 0; width_ < width && width_ != before;) {
      before = width_;
      widen();
    }
    require_consistent(width == width_ && capacity == capacity_ && space_->size() > 0 &&
                           round_ >= 0 && round_ <= kMaxSteps && restarts_ >= 0 &&
                           restarts_ <= kMaxRestarts && steps_ >= 0 && steps_ <= kMaxSteps &&
                           known_.allFinite(),
                       "truncated_svd");
  }

  const LinearOperator& A_;
  Index rank_;
  double tolerance_;
  const RunControl& control_;
  SvdCheckpoints& checkpoints_;
  Index width_ = 0;
  Index capacity_ = 0;
  std::unique_ptr<KrylovSpace> space_;
  RitzTriplets ritz_;
  Vector known_;  ///< values found in earlier rounds
  Index round_ = 0;
  Index restarts_ = 0;  ///< restarts in this round
  Index steps_ = 0;
  bool exact_ = false;  ///< the space cannot grow, and its triplets are exact
  Termination termination_ = Termination::kConverged;
  std::string message_;
};

}  // namespace

MultiVector random_block(const LinearOperator& A, std::uint64_t seed, Index first, Index count) {
  return random_normal_block(
      A.memory_space(), seed, RandomStream::kSketch, A.cols(), std::min(count, A.cols()), first);
}

SvdOutcome krylov_svd(const LinearOperator& A,
                      bool symmetric,
                      Index rank,
                      const TruncatedSvdOptions& options,
                      const RunControl& control,
                      SvdCheckpoints& checkpoints) {
  return KrylovSearch(A, symmetric, rank, options, control, checkpoints).run();
}

}  // namespace matapprox
