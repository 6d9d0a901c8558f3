#pragma once

#include <functional>
#include <optional>

#include "matapprox/core/run_control.hpp"
#include "matapprox/factors/approximation.hpp"
#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {

/// Decides when a method that can save its whole state writes the next checkpoint.
class CheckpointClock {
 public:
  /// Keeps a reference to the control.
  explicit CheckpointClock(const RunControl& control)
      : control_(control), last_(control.seconds()) {}

  /// True if the caller takes checkpoints and there is memory for the copies of a state of
  /// `numbers` values.
  bool is_wanted(Index numbers) const;
  /// The same, and checkpoint_seconds have passed since the last checkpoint.
  bool is_due(Index numbers) const;
  void restart() { last_ = control_.seconds(); }

 private:
  const RunControl& control_;
  double last_;
};

/// Throws InvalidArgument, saying that the state to resume of `method` contradicts itself, unless
/// `consistent`.
void require_consistent(bool consistent, const char* method);

/// Checkpoints of a run: when they are due, and the state from which the run itself resumes. One
/// run may search several times, for more triplets each time.
class SvdCheckpoints {
 public:
  /// Makes the approximation of a checkpoint from the triplets found so far.
  using Publish = std::function<Approximation(const SvdOutcome& best, SvdAlgorithm algorithm)>;

  /// Makes checkpoints that are never due, with no state to resume.
  SvdCheckpoints() = default;
  /// Throws InvalidArgument for a state that none of these searches can have written.
  SvdCheckpoints(const RunControl& control, Publish publish);

  bool resumes() const { return control_ != nullptr && control_->resume != nullptr; }
  /// Algorithm and number of triplets of the resumed search.
  SvdAlgorithm resumed_algorithm() const;
  Index resumed_count() const;

  /// Begins the search for the first `count` triplets by that algorithm.
  void begin_search(SvdAlgorithm algorithm, Index count);
  /// State from which this search resumes, else null.
  const ResumeState* state() const { return goes_on_ ? control_->resume : nullptr; }

  /// True if checkpoints of a basis of that many numbers are wanted, or one is due.
  bool are_wanted(Index numbers) const { return clock_ && clock_->is_wanted(numbers); }
  bool is_due(Index numbers) const { return clock_ && clock_->is_due(numbers); }
  /// Writes a checkpoint; `state` is that of the algorithm.
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
