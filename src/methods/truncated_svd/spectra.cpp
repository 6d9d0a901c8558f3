#include "methods/spectra.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {
namespace {

constexpr const char* kName = "truncated_svd (spectra)";

SymmetricProduct itself(const LinearOperator& A) {
  return {A.rows(), [&A](const Vector& x, Vector& y) { A.apply(x, Block(y)); }};
}

/// Returns [0 A; A^T 0], of order m + n. Its eigenvalues are the singular values with both signs,
/// and zeros [GK65]. Unlike A^T A, it keeps the accuracy of the small ones.
SymmetricProduct golub_kahan_form(const LinearOperator& A) {
  const Index m = A.rows();
  const Index n = A.cols();
  return {m + n,
          [&A, m, n](const Vector& x, Vector& y) {
            A.apply(x.tail(n), Block(y.head(m)));
            A.apply_transpose(x.head(m), Block(y.tail(n)));
          },
          m};
}

// Vectors that converged one by one are orthonormal only to their residuals, so the triplets are
// those of A on the span of the vectors.

kernels::Svd triplets_on(const LinearOperator& A, const ConstBlock& right_vectors) {
  const Matrix Q = kernels::thin_qr(right_vectors);
  kernels::Svd svd = kernels::svd(A.apply(Q));
  svd.V = Q * svd.V;
  return svd;
}

kernels::Svd symmetric_triplets_on(const LinearOperator& A, const ConstBlock& eigenvectors) {
  const Matrix Q = kernels::thin_qr(eigenvectors);
  const Matrix T = Q.transpose() * A.apply(Q);
  kernels::Svd svd = svd_of_eigen(kernels::symmetric_eigen((T + T.transpose()) / 2));
  svd.U = Q * svd.U;
  svd.V = Q * svd.V;
  return svd;
}

}  // namespace

SvdOutcome spectra_svd(const LinearOperator& A,
                       bool symmetric,
                       Index rank,
                       const TruncatedSvdOptions& options,
                       const RunControl& control) {
  const SpectraEigenpairs found =
      spectra_eigenpairs(symmetric ? itself(A) : golub_kahan_form(A),
                         rank,
                         symmetric ? SpectrumEnd::kLargestMagnitude : SpectrumEnd::kLargest,
                         options.tolerance,
                         options.seed,
                         kName,
                         control);
  SvdOutcome outcome;
  const Index count = std::max<Index>(found.values.size(), 1);
  const Matrix vectors = found.values.size() > 0 ? Matrix(found.vectors.bottomRows(A.cols()))
                                                 : Matrix(Matrix::Identity(A.cols(), count));
  outcome.triplets = symmetric ? symmetric_triplets_on(A, vectors) : triplets_on(A, vectors);
  outcome.iterations = found.products;
  outcome.termination = Termination::kConverged;
  if (found.values.size() < rank) {
    outcome.termination = Termination::kMaxIterations;
    outcome.message = fmt::format("{} of {} singular triplets reached the residual {:g}",
                                  found.values.size(),
                                  rank,
                                  options.tolerance);
  } else if (!found.all_copies) {
    outcome.termination = Termination::kMaxIterations;
    outcome.message = "the triplets converged, but copies of repeated values may be missing";
  }
  return outcome;
}

}  // namespace matapprox
