#pragma once

#include <limits>
#include <optional>
#include <string>

#include "best/candidates.hpp"
#include "best/trials.hpp"

namespace matapprox::choosing {

/// Leading singular values from one randomized SVD, and what they say about low rank.
struct Prediction {
  Vector singular_values;  ///< leading ones, descending; empty: unknown
  double passes = 0;
  /// The relative error that packed low rank is expected to have.
  double low_rank = std::numeric_limits<double>::infinity();
};

/// Computes the triplets that predictions are made from, as many as the time allows; returns
/// nothing if stopped.
std::optional<RunResult> leading_triplets(const LinearOperator& A,
                                          bool symmetric,
                                          const BestOptions& options,
                                          const RunControl& control,
                                          Trials& trials);

/// The singular values of triplets, which predictions are made from.
Prediction prediction_of(const RunResult& triplets);

/// Tries the packed triplets: a first result, and often not a bad one.
void try_triplets(const RunResult& triplets, const BestOptions& options, Trials& trials);

/// Everything that the decision about the next candidate depends on.
struct Situation {
  const LinearOperator& A;
  const MatrixFacts& facts;
  const MatrixTraits& traits;
  const BestOptions& options;
  const Trials& trials;
  Prediction& prediction;

  /// True if every candidate is tried that the options allow.
  bool all_asked_for() const {
    return options.effort == BestEffort::kHigh || !options.methods.empty();
  }
  /// Bytes that a candidate may take to be of use: the budget, else those of the best so far.
  double useful_bytes() const;
  /// Relative error that a candidate has to reach: the target, else that of the best so far.
  double wanted_error() const;
};

/// Reason why a candidate is not worth its time, by the rule of its method; empty if it is. Notes
/// the predictions for low rank. Throws Interrupted.
std::string why_not(const Situation& now, BestCandidate& candidate);

}  // namespace matapprox::choosing
