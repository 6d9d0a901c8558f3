#include "methods/truncated_svd/checkpoints.hpp"

#include <utility>

#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox {
namespace {

constexpr const char* kAlgorithm = "algorithm";
constexpr const char* kCount = "count";

/// The state, the caller's copy, what is written, and vectors of the triplets.
constexpr Index kCopies = 4;

bool has_room(Index numbers) {
  const Index available = available_memory_bytes();
  return available == 0 || kCopies * Index{sizeof(double)} * numbers < available;
}

}  // namespace

SvdCheckpoints::SvdCheckpoints(const RunControl& control, Publish publish)
    : control_(&control), publish_(std::move(publish)), last_(control.seconds()) {
  if (!resumes()) return;
  const SvdAlgorithm algorithm = resumed_algorithm();
  require(algorithm == SvdAlgorithm::kKrylov || algorithm == SvdAlgorithm::kRandomized,
          "truncated_svd: the state to resume contradicts itself");
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

bool SvdCheckpoints::are_wanted(Index numbers) const {
  return control_ != nullptr && control_->checkpoint && has_room(numbers);
}

bool SvdCheckpoints::is_due(Index numbers) const {
  return control_ != nullptr && control_->seconds() - last_ >= control_->checkpoint_seconds &&
         are_wanted(numbers);
}

void SvdCheckpoints::write(const SvdOutcome& best, ResumeState state) {
  state.counters.emplace_back(kAlgorithm, static_cast<Index>(algorithm_));
  state.counters.emplace_back(kCount, count_);
  control_->checkpoint(publish_(best, algorithm_), state);
  last_ = control_->seconds();
}

}  // namespace matapprox
