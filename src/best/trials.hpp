#pragma once

#include <atomic>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "matapprox/best/best.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/measure/run.hpp"

namespace matapprox::choosing {

/// What measuring may take where so many seconds are left.
double multiplications_in(double seconds);

/// Builds and measures one candidate after another and keeps the best.
class Trials {
 public:
  /// Keeps references to all but `wanted`, whose budget is in bytes or numbers.
  Trials(const LinearOperator& A,
         const MatrixFacts& facts,
         BestOptions wanted,
         const RunControl& control,
         const BestEvents& events);

  /// |A|_2, or less.
  void know_spectral_norm(double norm) { spectral_norm_ = norm; }
  /// The method with the candidate's options at its precision, for the budget or the target.
  void try_method(BestCandidate candidate);
  /// A result that is there already.
  void try_result(BestCandidate candidate, RunResult result);
  /// Only said why it was not built.
  void drop(BestCandidate candidate, const std::string& why);

  bool should_stop() const { return control_.should_stop(); }
  /// Of the time that is given; infinite where it is not limited.
  double seconds_left() const { return control_.max_seconds - control_.seconds(); }
  bool interrupted() const { return interrupted_; }
  void say_interrupted() { interrupted_ = true; }
  /// Relative Frobenius error of the best so far; infinite where there is none.
  double least_error() const;
  /// Its bytes; infinite where there is none that reaches the target.
  double least_bytes() const;
  /// Relative error below which a packed truncated SVD is not expected in as many bytes, as far as
  /// one of those that were tried tells; else 0.
  double low_rank_bound(double bytes) const;
  bool has_result() const { return best_.has_value(); }

  const std::vector<BestCandidate>& candidates() const { return candidates_; }
  std::size_t chosen() const { return chosen_; }
  const RunResult& result() const { return best_->result; }
  const Measurement& measurement() const { return best_->measurement; }
  /// The bound by which the target was seen to be reached; empty where the exact error told.
  const std::optional<Certificate>& deciding() const { return best_->deciding; }
  bool target_is_met() const { return best_->reaches; }
  double passes() const { return passes_; }
  /// What does not fit, and what the least of all takes; empty if nothing was refused for want of
  /// bytes.
  std::string too_small() const;
  void note_too_small(const BestCandidate& candidate, const BudgetTooSmall& error);
  /// What measuring may take of the time that is left; infinite where time is not limited.
  double affordable_multiplications() const;
  bool certificate_is_affordable() const;

 private:
  struct Trial {
    RunResult result;
    Measurement measurement{};
    double relative_error = 0;
    double certified = -1;  ///< relative to the wanted norm; negative: not certified
    bool reaches = false;
    bool likely = false;  ///< by an estimate, and no time was left for a bound
    std::optional<Certificate> deciding{};
  };
  double seconds_for_fit(const BestCandidate& candidate) const;
  /// Whether nothing is there yet, and time is limited.
  bool comes_first() const;
  /// What a first result may store.
  double first_bytes() const;
  RunResult fit(const BestCandidate& candidate, double aim, Index& given_up_after) const;
  Trial measured(BestCandidate& candidate, RunResult result);
  bool needs_certificate(const Measurement& measurement) const;
  void certify_trial(BestCandidate& candidate, Trial& trial);
  double first_aim() const;
  Trial search(BestCandidate& candidate);
  bool fits(const Storage& storage) const;
  bool is_better(const Trial& trial, const Trial& than) const;
  void settle(BestCandidate candidate, Trial trial);
  void finish(BestCandidate candidate);
  double score(const Trial& trial) const;

  const LinearOperator& A_;
  const MatrixFacts& facts_;
  BestOptions wanted_;
  double spectral_norm_ = 0;
  double low_rank_bound_ = 0;  ///< the largest one that was met
  double low_rank_bytes_ = 0;  ///< and for how many bytes it holds
  const RunControl& control_;
  const BestEvents& events_;
  int bounds_drawn_ = 0;
  std::vector<BestCandidate> candidates_;
  std::size_t chosen_ = 0;
  std::optional<Trial> best_;
  double measuring_seconds_ = 0;  ///< the most that measuring one took
  double passes_ = 0;
  bool interrupted_ = false;
  std::string too_small_;  ///< the first refusal for want of bytes
  double least_needed_ = std::numeric_limits<double>::infinity();
  std::string needs_least_;
};

}  // namespace matapprox::choosing
