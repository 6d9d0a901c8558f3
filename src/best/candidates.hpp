#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "best/trials.hpp"
#include "matapprox/best/best.hpp"

namespace matapprox::choosing {

/// Properties on which the choice of candidates depends.
struct MatrixTraits {
  bool symmetric = false;
  bool square = false;
  bool sparse = false;        ///< at most a quarter of the entries are not 0
  bool small = false;         ///< there is time for a Chord fit
  bool few = false;           ///< small enough to be stored as a dense matrix
  bool large = false;         ///< much slower candidates than a fit by blocks must be promising
  bool local = false;         ///< large, and its largest entries are near the diagonal
  bool points = false;        ///< a kernel matrix of points
  bool held = false;          ///< its entries fit into memory
  bool in_memory = false;     ///< its entries are in memory
  bool listed = false;        ///< its nonzeros are a list in memory
  bool time_limited = false;  ///< the time is limited
  /// Blocks in spectral order are this many times nearer than in the given order, on a sample.
  double spectral_gain = 1;
  /// True if the given order need not be tried on the whole matrix.
  bool spectral_first() const;
};

/// True if both orders of rows and columns have to be compared.
bool compares_orders(const MatrixTraits& traits, const BestOptions& options);

MatrixTraits traits_of(const LinearOperator& A,
                       const MatrixFacts& facts,
                       const RunControl& control);

/// A stored without loss.
BestCandidate exact_store(const BestOptions& options);
/// All doubles in compressed streams.
BestCandidate compressed_store(const BestOptions& options);

/// A first result for a kernel matrix under a time limit, from a few landmarks.
BestCandidate first_nystrom(const BestOptions& options);

/// Candidates to build, in this order, besides exact stores and the triplets of the prediction.
std::vector<BestCandidate> candidates(const MatrixTraits& traits, const BestOptions& options);

/// True if the options let this method take part.
bool takes_part(const std::string& method, const BestOptions& options);

/// Throws InvalidArgument, with the nearest name, for a name that is no method.
void check_methods(const BestOptions& options);

// -------------------------------------------------------------- Which candidates are worth a fit

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

/// The value of MatrixTraits::spectral_gain; 1 if the sample cannot be fitted or was stopped.
double spectral_gain(const Situation& now, const RunControl& control, Trials& trials);

/// Reason why a candidate is not worth its time, by the rule of its method; empty if it is. Notes
/// the predictions for low rank. Throws Interrupted.
std::string why_not(const Situation& now, BestCandidate& candidate);

}  // namespace matapprox::choosing
