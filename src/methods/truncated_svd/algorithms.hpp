#pragma once

#include <memory>
#include <string>

#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/truncated_svd.hpp"

namespace matapprox {

class SvdCheckpoints;

/// Singular vectors where the operator has its blocks.
struct PlacedVectors {
  MultiVector U;
  MultiVector V;
};

/// Leading singular triplets, and how they were found.
struct SvdOutcome {
  kernels::Svd triplets;  ///< descending; at least as many as asked for unless stopped early
  /// U and V, where the operator's memory keeps results; those of `triplets` are then empty.
  std::shared_ptr<const PlacedVectors> placed{};
  Index iterations = 1;
  Termination termination = Termination::kCompleted;
  std::string message;
};

/// The triplets with their vectors on the host.
kernels::Svd host_triplets(SvdOutcome outcome);

/// Singular triplets of a symmetric matrix: sigma = |lambda|, u = sign(lambda) v; descending.
kernels::Svd svd_of_eigen(const kernels::SymmetricEigen& eigen);

/// All min(m, n) triplets by LAPACK; a symmetric A by its eigendecomposition. Holds A.
SvdOutcome dense_svd(const LinearOperator& A, bool symmetric, const RunControl& control);

/// `rank` triplets to options.tolerance by thick-restarted block Krylov, and then, where copies of
/// repeated values may be missing, as many rounds without what was found as bring more of them. A
/// point to go on from is written after a step where one is due, and when it is stopped.
SvdOutcome krylov_svd(const LinearOperator& A,
                      bool symmetric,
                      Index rank,
                      const TruncatedSvdOptions& options,
                      const RunControl& control,
                      SvdCheckpoints& checkpoints);

/// `rank` triplets from 2 (q + 1) passes over A; where copies of repeated values may be missing,
/// again with twice the block. Points to go on from as in krylov_svd.
SvdOutcome randomized_svd(const LinearOperator& A,
                          bool symmetric,
                          Index rank,
                          const TruncatedSvdOptions& options,
                          const RunControl& control,
                          SvdCheckpoints& checkpoints);

/// Up to `rank` triplets to options.tolerance by Spectra.
SvdOutcome spectra_svd(const LinearOperator& A,
                       bool symmetric,
                       Index rank,
                       const TruncatedSvdOptions& options,
                       const RunControl& control);

}  // namespace matapprox
