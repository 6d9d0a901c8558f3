#pragma once

#include <vector>

#include "matapprox/best/best.hpp"

namespace matapprox::choosing {

/// What the choice of candidates depends on.
struct MatrixTraits {
  bool symmetric = false;
  bool square = false;
  bool sparse = false;   ///< at most a quarter of the entries are not 0
  bool small = false;    ///< there is time for a Chord fit
  bool large = false;    ///< what takes many times as long as a fit by blocks is thought over
  bool local = false;    ///< large, and its largest entries lie near the diagonal
  bool points = false;   ///< a kernel matrix of points
  bool held = false;     ///< its entries fit into memory
  bool listed = false;   ///< what is not 0 is a list in memory
  bool hurried = false;  ///< its time is limited
};

MatrixTraits traits_of(const LinearOperator& A,
                       const MatrixFacts& facts,
                       const RunControl& control);

/// A without loss.
BestCandidate exact_store(const BestOptions& options);

/// A first result of a kernel matrix whose time is limited, from a few landmarks.
BestCandidate first_nystrom(const BestOptions& options);

/// What is built of A, in this order, besides exact stores and the triplets of the prediction.
std::vector<BestCandidate> candidates(const MatrixTraits& traits, const BestOptions& options);

/// Whether the options let this method take part.
bool takes_part(const std::string& method, const BestOptions& options);

/// Throws InvalidArgument, suggesting the nearest, for a name that is no method.
void check_methods(const BestOptions& options);

}  // namespace matapprox::choosing
