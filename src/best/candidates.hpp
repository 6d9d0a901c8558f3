#pragma once

#include <vector>

#include "matapprox/best/best.hpp"

namespace matapprox::choosing {

/// Properties on which the choice of candidates depends.
struct MatrixTraits {
  bool symmetric = false;
  bool square = false;
  bool sparse = false;        ///< at most a quarter of the entries are not 0
  bool small = false;         ///< there is time for a Chord fit
  bool large = false;         ///< much slower candidates than a fit by blocks must be promising
  bool local = false;         ///< large, and its largest entries are near the diagonal
  bool points = false;        ///< a kernel matrix of points
  bool held = false;          ///< its entries fit into memory
  bool in_memory = false;     ///< its entries are in memory
  bool listed = false;        ///< its nonzeros are a list in memory
  bool time_limited = false;  ///< the time is limited
};

MatrixTraits traits_of(const LinearOperator& A,
                       const MatrixFacts& facts,
                       const RunControl& control);

/// A stored without loss.
BestCandidate exact_store(const BestOptions& options);

/// A first result for a kernel matrix under a time limit, from a few landmarks.
BestCandidate first_nystrom(const BestOptions& options);

/// Candidates to build, in this order, besides exact stores and the triplets of the prediction.
std::vector<BestCandidate> candidates(const MatrixTraits& traits, const BestOptions& options);

/// True if the options let this method take part.
bool takes_part(const std::string& method, const BestOptions& options);

/// Throws InvalidArgument, with the nearest name, for a name that is no method.
void check_methods(const BestOptions& options);

}  // namespace matapprox::choosing
