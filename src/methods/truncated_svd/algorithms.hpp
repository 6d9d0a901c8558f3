#pragma once

#include <memory>
#include <string>
#include <vector>

#include "matapprox/kernels/lapack.hpp"
#include "matapprox/methods/truncated_svd.hpp"

namespace matapprox {

class SvdCheckpoints;

/// Singular vectors in the memory space of the operator.
struct PlacedVectors {
  MultiVector U;
  MultiVector V;
};

/// Leading singular triplets and how they were found.
struct SvdOutcome {
  kernels::Svd triplets;  ///< descending; at least as many as requested unless stopped early
  /// U and V if the operator's memory space keeps results; those of `triplets` are then empty.
  std::shared_ptr<const PlacedVectors> placed{};
  Index iterations = 1;
  Termination termination = Termination::kCompleted;
  std::string message;
};

/// Returns the triplets with their vectors on the host.
kernels::Svd host_triplets(SvdOutcome outcome);

/// Indices of the values by descending magnitude; equal ones keep their order.
std::vector<Index> largest_first(const Vector& values);

/// Singular triplets of a symmetric matrix: sigma = |lambda|, u = sign(lambda) v; descending.
kernels::Svd svd_of_eigen(const kernels::SymmetricEigen& eigen);

/// Computes all min(m, n) triplets by LAPACK; for a symmetric A from its eigendecomposition. Stores
/// A as a dense matrix.
SvdOutcome dense_svd(const LinearOperator& A, bool symmetric, const RunControl& control);

/// Computes `rank` triplets to options.tolerance by thick-restarted block Krylov. Where copies of
/// repeated values may be missing, further rounds search the deflated matrix as long as they find
/// more. A checkpoint is written after a step where one is due, and when the run is stopped.
SvdOutcome krylov_svd(const LinearOperator& A,
                      bool symmetric,
                      Index rank,
                      const TruncatedSvdOptions& options,
                      const RunControl& control,
                      SvdCheckpoints& checkpoints);

/// Computes `rank` triplets from 2 (q + 1) passes over A. Where copies of repeated values may be
/// missing, repeats with twice the block size. Writes checkpoints as krylov_svd does.
SvdOutcome randomized_svd(const LinearOperator& A,
                          bool symmetric,
                          Index rank,
                          const TruncatedSvdOptions& options,
                          const RunControl& control,
                          SvdCheckpoints& checkpoints);

/// Computes up to `rank` triplets to options.tolerance by Spectra.
SvdOutcome spectra_svd(const LinearOperator& A,
                       bool symmetric,
                       Index rank,
                       const TruncatedSvdOptions& options,
                       const RunControl& control);

}  // namespace matapprox
