#include "methods/checkpoints.hpp"

#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

/// Copies in memory: the state, the caller's copy, the written data and the factors made of it.
constexpr Index kCopies = 4;

}  // namespace

bool CheckpointClock::is_wanted(Index numbers) const {
  if (!control_.checkpoint) return false;
  const Index available = available_memory_bytes();
  return available == 0 || kCopies * Index{sizeof(double)} * numbers < available;
}

void require_consistent(bool consistent, const char* method) {
  require(consistent, "{}: the state to resume is inconsistent", method);
}

bool CheckpointClock::is_due(Index numbers) const {
  return control_.checkpoint && control_.seconds() - last_ >= control_.checkpoint_seconds &&
         is_wanted(numbers);
}

namespace {

constexpr const char* kAlgorithm = "algorithm";
constexpr const char* kCount = "count";

}  // namespace

SvdCheckpoints::SvdCheckpoints(const RunControl& control, Publish publish)
    : control_(&control), clock_(control), publish_(std::move(publish)) {
  if (!resumes()) return;
  const SvdAlgorithm algorithm = resumed_algorithm();
  require_consistent(algorithm == SvdAlgorithm::kKrylov || algorithm == SvdAlgorithm::kRandomized,
                     "truncated_svd");
}

SvdAlgorithm SvdCheckpoints::resumed_algorithm() const {
  return static_cast<SvdAlgorithm>(control_->resume->counter(kAlgorithm));
}

Index SvdCheckpoints::resumed_count() const { return control_->resume->counter(kCount); }

void SvdCheckpoints::begin_search(SvdAlgorithm algorithm, Index count) {
  algorithm_ = algorithm;
  count_ = count;
  goes_on_ = resumes() && !has_begun_;
  has_begun_ = true;
}

void SvdCheckpoints::write(const SvdOutcome& best, ResumeState state) {
  state.counters.emplace_back(kAlgorithm, static_cast<Index>(algorithm_));
  state.counters.emplace_back(kCount, count_);
  control_->checkpoint(publish_(best, algorithm_), state);
  clock_->restart();
}

}  // namespace matapprox
