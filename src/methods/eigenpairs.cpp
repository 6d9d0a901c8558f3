#include "matapprox/methods/eigenpairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/require.hpp"
#include "kernels/lapack.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/spectra.hpp"

namespace matapprox {
namespace {

constexpr const char* kEigenpairs = "eigenpairs";
/// How far a shift that is an eigenvalue moves, relative to the largest entry: far above the
/// rounding of a factorization, far below what tells eigenvalues apart.
constexpr double kMove = 1e-7;
constexpr double kLargestResidual = 1e-8;

SparseMatrix shifted(const SparseMatrix& A, double shift) {
  SparseMatrix identity(A.rows(), A.cols());
  identity.setIdentity();
  return A - shift * identity;
}

struct ShiftedInverse {
  std::shared_ptr<const LinearOperator> product;
  double shift;
};

double largest_entry(const SparseMatrix& A) {
  return A.nonZeros() == 0 ? 0.0 : A.coeffs().abs().maxCoeff();
}

/// About the largest eigenvalue of (A - sigma I)^-1, from one random vector.
double largest_of(const LinearOperator& inverse, std::uint64_t seed) {
  Matrix x(inverse.cols(), 1);
  fill_normal(seed, RandomStream::kSketch, x, 0, 0);
  const double share = std::sqrt(static_cast<double>(x.size()));  // of one direction in x
  return share * inverse.apply(x).stableNorm() / x.norm();
}

/// Nothing where the shift is so near to an eigenvalue that the others would be lost in the
/// rounding of its inverse distance.
std::shared_ptr<const LinearOperator> usable_inverse(const SparseMatrix& A,
                                                     double shift,
                                                     double move,
                                                     std::uint64_t seed) {
  try {
    auto inverse = inverse_operator(shifted(A, shift));
    return move > 0 && largest_of(*inverse, seed) * move > 1 ? nullptr : inverse;
  } catch (const NumericalError&) {
    if (move > 0) return nullptr;
    throw;
  }
}

ShiftedInverse invert(const SparseMatrix& A, double shift, std::uint64_t seed) {
  const double move = kMove * std::max(largest_entry(A), std::abs(shift));
  if (auto inverse = usable_inverse(A, shift, move, seed)) return {std::move(inverse), shift};
  return {usable_inverse(A, shift - move, 0, seed), shift - move};
}

/// Where `keys` has its smallest, second smallest, ... entry.
std::vector<Index> ascending(const Vector& keys) {
  std::vector<Index> order(static_cast<std::size_t>(keys.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return keys(i) < keys(j); });
  return order;
}

}  // namespace

Eigenpairs nearest_eigenpairs(const SparseMatrix& A,
                              const NearestEigenpairsOptions& options,
                              const RunControl& control) {
  const SparseOperator checked(A);
  require(is_symmetric(checked),
          "{}: the matrix is {} x {} and {}; eigenvalues next to a shift need a symmetric one",
          kEigenpairs,
          A.rows(),
          A.cols(),
          A.rows() == A.cols() ? "not symmetric" : "not square");
  require(
      std::isfinite(options.shift), "{}: the shift {} is no number", kEigenpairs, options.shift);
  require(options.count >= 1 && options.count < A.rows(),
          "{}: count {} is outside 1..{}, one less than the order",
          kEigenpairs,
          options.count,
          A.rows() - 1);
  require(options.tolerance > 0 && options.tolerance < 1,
          "{}: tolerance {:g} is outside 0..1 (both excluded)",
          kEigenpairs,
          options.tolerance);
  if (!spectra_is_available()) {
    throw NotAvailable(std::string(kEigenpairs) +
                       ": this build has no Spectra; configure it with MATAPPROX_WITH_SPECTRA=ON");
  }
  const SparseMatrix& symmetric = checked.values();
  const ShiftedInverse inverse = invert(symmetric, options.shift, options.seed);
  const SymmetricProduct solve{
      A.rows(), [&](const Vector& x, Vector& y) { inverse.product->apply(x, Block(y)); }};
  const SpectraEigenpairs found = spectra_eigenpairs(solve,
                                                     options.count,
                                                     SpectrumEnd::kLargestMagnitude,
                                                     options.tolerance,
                                                     options.seed,
                                                     kEigenpairs,
                                                     control);
  // The eigenpairs of A itself on the span of what was found: the error of a value is then of the
  // order of its residual squared, also where some lie close together.
  const Matrix Q = kernels::thin_qr(found.vectors);
  const Matrix T = Q.transpose() * checked.apply(Q);
  const kernels::SymmetricEigen on_span = kernels::symmetric_eigen((T + T.transpose()) / 2);
  const Vector& values = on_span.values;
  Eigenpairs result;
  result.used_shift = inverse.shift;
  result.solves = found.products;
  result.converged = values.size() == options.count && found.all_copies;
  const std::vector<Index> order = ascending((values.array() - options.shift).abs());
  result.values = values(order);
  result.vectors = Q * on_span.vectors(Eigen::all, order);
  const Matrix residuals =
      checked.apply(result.vectors) - result.vectors * result.values.asDiagonal();
  result.residuals = residuals.colwise().norm();
  if (result.residuals.size() > 0 &&
      !(result.residuals.maxCoeff() <= kLargestResidual * largest_entry(symmetric))) {
    result.converged = false;
  }
  return result;
}

}  // namespace matapprox
