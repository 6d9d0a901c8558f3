#pragma once

#include <functional>
#include <optional>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "methods/checkpoint_clock.hpp"
#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {

/// Points of a run from which it can go on: when they are due, and where the run itself goes on.
/// One run may search several times, for more triplets each time.
class SvdCheckpoints {
 public:
  /// Makes the approximation that goes with a point from the triplets that there are.
  using Publish = std::function<Approximation(const SvdOutcome& best, SvdAlgorithm algorithm)>;

  /// Never due, and nothing to go on from.
  SvdCheckpoints() = default;
  /// Throws InvalidArgument for a state that none of these searches can have written.
  SvdCheckpoints(const RunControl& control, Publish publish);

  bool resumes() const { return control_ != nullptr && control_->resume != nullptr; }
  /// Of the search that is gone on with.
  SvdAlgorithm resumed_algorithm() const;
  Index resumed_count() const;

  /// The search for the first `count` triplets by that algorithm begins.
  void begin_search(SvdAlgorithm algorithm, Index count);
  /// What this search goes on from, else null.
  const ResumeState* state() const { return goes_on_ ? control_->resume : nullptr; }

  /// For a basis of so many numbers.
  bool are_wanted(Index numbers) const { return clock_ && clock_->is_wanted(numbers); }
  bool is_due(Index numbers) const { return clock_ && clock_->is_due(numbers); }
  /// `state` is what the algorithm needs.
  void write(const SvdOutcome& best, ResumeState state);

 private:
  const RunControl* control_ = nullptr;
  std::optional<CheckpointClock> clock_;
  Publish publish_;
  SvdAlgorithm algorithm_ = SvdAlgorithm::kAuto;
  Index count_ = 0;
  bool goes_on_ = false;
  bool has_begun_ = false;
};

}  // namespace matapprox
