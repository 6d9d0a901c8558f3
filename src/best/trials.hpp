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

/// Number of multiplications that measuring may take if `seconds` are left.
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

  /// Sets |A|_2, or a lower bound of it.
  void know_spectral_norm(double norm) { spectral_norm_ = norm; }
  /// Runs the method with the candidate's options and precision, for the budget or the target.
  void try_method(BestCandidate candidate);
  /// Measures a result that exists already.
  void try_result(BestCandidate candidate, RunResult result);
  /// Records why a candidate was not built.
  void drop(BestCandidate candidate, const std::string& why);

  bool should_stop() const { return control_.should_stop(); }
  /// Seconds left of the time limit; infinite without one.
  double seconds_left() const { return control_.max_seconds - control_.seconds(); }
  bool interrupted() const { return interrupted_; }
  void mark_interrupted() { interrupted_ = true; }
  /// Relative Frobenius error of the best so far; infinite if there is none.
  double least_error() const;
  /// Bytes of the best so far; infinite if none reaches the target.
  double least_bytes() const;
  /// Relative error below which a packed truncated SVD is not expected in `bytes` bytes, if a tried
  /// candidate gave such a bound; else 0.
  double low_rank_bound(double bytes) const;
  bool has_result() const { return best_.has_value(); }

  const std::vector<BestCandidate>& candidates() const { return candidates_; }
  std::size_t chosen() const { return chosen_; }
  const RunResult& result() const { return best_->result; }
  const Measurement& measurement() const { return best_->measurement; }
  /// The bound that decided whether the target is reached; empty if the exact error did.
  const std::optional<Certificate>& deciding() const { return best_->deciding; }
  bool target_is_met() const { return best_->reaches; }
  double passes() const { return passes_; }
  /// Message that nothing fits, with the bytes of the smallest result; empty if nothing was refused
  /// for lack of bytes.
  std::string too_small() const;
  void note_too_small(const BestCandidate& candidate, const BudgetTooSmall& error);
  /// Number of multiplications that measuring may take in the time left; infinite without a limit.
  double affordable_multiplications() const;
  bool certificate_is_affordable() const;

 private:
  struct Trial {
    RunResult result;
    Measurement measurement{};
    double relative_error = 0;
    double certified = -1;  ///< relative to the wanted norm; negative: not certified
    bool reaches = false;
    bool likely = false;  ///< reaches the target by an estimate; no time for a bound
    std::optional<Certificate> deciding{};
  };
  double seconds_for_fit(const BestCandidate& candidate) const;
  /// True if there is no result yet and time is limited.
  bool comes_first() const;
  /// Bytes that a first result may take.
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
  double low_rank_bound_ = 0;  ///< largest one of the tried candidates
  double low_rank_bytes_ = 0;  ///< number of bytes for which it holds
  const RunControl& control_;
  const BestEvents& events_;
  int bounds_drawn_ = 0;
  std::vector<BestCandidate> candidates_;
  std::size_t chosen_ = 0;
  std::optional<Trial> best_;
  double measuring_seconds_ = 0;  ///< longest time that measuring a candidate took
  double passes_ = 0;
  bool interrupted_ = false;
  std::string too_small_;  ///< the first refusal for lack of bytes
  double least_needed_ = std::numeric_limits<double>::infinity();
  std::string needs_least_;
};

}  // namespace matapprox::choosing
