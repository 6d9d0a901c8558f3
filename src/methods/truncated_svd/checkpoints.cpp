#include "methods/truncated_svd/checkpoints.hpp"

#include <utility>

namespace matapprox {
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
