#include "methods/spectra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "methods/truncated_svd/algorithms.hpp"

namespace matapprox {
namespace {

constexpr const char* kName = "truncated_svd (spectra)";

SymmetricProduct itself(const LinearOperator& A) {
  return {A.rows(), [&A](const Vector& x, Vector& y) { A.apply(x, Block(y)); }};
}

/// [0 A; A^T 0], of order m + n: its eigenvalues are the singular values with both signs, and zeros
/// [GK65]; unlike A^T A it keeps the accuracy of the small ones.
SymmetricProduct golub_kahan_form(const LinearOperator& A) {
  const Index m = A.rows();
  const Index n = A.cols();
  return {m + n, [&A, m, n](const Vector& x, Vector& y) {
            A.apply(x.tail(n), Block(y.head(m)));
            A.apply_transpose(x.head(m), Block(y.tail(n)));
          }};
}

kernels::Svd triplets_of_eigenpairs(const SpectraEigenpairs& found) {
  const Index count = found.values.size();
  kernels::Svd svd{found.vectors, found.values.cwiseAbs(), found.vectors};
  for (Index c = 0; c < count; ++c) {
    if (found.values(c) < 0) svd.U.col(c) = -svd.U.col(c);
  }
  return svd;
}

/// The halves of the eigenvectors, each of norm sqrt(1/2); not so for values that are zero to
/// rounding, which are left out.
kernels::Svd triplets_of_halves(const SpectraEigenpairs& found, Index m, Index n) {
  const double rounding =
      std::numeric_limits<double>::epsilon() * static_cast<double>(m + n) * found.values.cwiseAbs().maxCoeff();
  Index count = 0;
  while (count < found.values.size() && found.values(count) > rounding) ++count;
  kernels::Svd svd{found.vectors.topLeftCorner(m, count),
                   found.values.head(count),
                   found.vectors.bottomLeftCorner(n, count)};
  svd.U.colwise().normalize();
  svd.V.colwise().normalize();
  return svd;
}

kernels::Svd zero_triplet(Index m, Index n) {
  return {Matrix::Identity(m, 1), Vector::Zero(1), Matrix::Identity(n, 1)};
}

}  // namespace

SvdOutcome spectra_svd(const LinearOperator& A,
                       bool symmetric,
                       Index rank,
                       const TruncatedSvdOptions& options,
                       const RunControl& control) {
  // Spectra finds fewer pairs than the order; the Golub-Kahan form has room for all.
  const bool as_it_is = symmetric && rank < A.rows();
  const SpectraEigenpairs found =
      spectra_eigenpairs(as_it_is ? itself(A) : golub_kahan_form(A),
                         rank,
                         as_it_is ? SpectrumEnd::kLargestMagnitude : SpectrumEnd::kLargest,
                         options.tolerance,
                         options.seed,
                         kName,
                         control);
  SvdOutcome outcome;
  if (found.values.size() > 0) {
    outcome.triplets = as_it_is ? triplets_of_eigenpairs(found)
                                : triplets_of_halves(found, A.rows(), A.cols());
  }
  const Index count = outcome.triplets.S.size();
  if (count == 0) outcome.triplets = zero_triplet(A.rows(), A.cols());
  outcome.iterations = found.products;
  outcome.termination = Termination::kConverged;
  if (found.values.size() < rank) {
    outcome.termination = Termination::kMaxIterations;
    outcome.message = fmt::format("{} of {} singular triplets reached the residual {:g}",
                                  found.values.size(),
                                  rank,
                                  options.tolerance);
  } else if (!found.all_copies) {
    outcome.message = "copies of repeated values may be missing";
  }
  return outcome;
}

}  // namespace matapprox
