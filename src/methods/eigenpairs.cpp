#include "matapprox/methods/eigenpairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/require.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/spectra.hpp"

namespace matapprox {
namespace {

constexpr const char* kEigenpairs = "eigenpairs";
/// How far a shift that is an eigenvalue moves, relative to the largest entry: far above the
/// rounding of a factorization, far below what tells eigenvalues apart.
constexpr double kMove = 1e-9;

SparseMatrix shifted(const SparseMatrix& A, double shift) {
  SparseMatrix identity(A.rows(), A.cols());
  identity.setIdentity();
  return A - shift * identity;
}

struct ShiftedInverse {
  std::shared_ptr<const LinearOperator> product;
  double shift;
};

ShiftedInverse invert(const SparseMatrix& A, double shift) {
  try {
    return {inverse_operator(shifted(A, shift)), shift};
  } catch (const NumericalError&) {
    const double largest = A.nonZeros() == 0 ? 0.0 : A.coeffs().abs().maxCoeff();
    const double move = kMove * std::max(largest, std::abs(shift));
    if (!(move > 0)) throw;
    return {inverse_operator(shifted(A, shift - move)), shift - move};
  }
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
  const ShiftedInverse inverse = invert(symmetric, options.shift);
  const SymmetricProduct solve{
      A.rows(), [&](const Vector& x, Vector& y) { inverse.product->apply(x, Block(y)); }};
  const SpectraEigenpairs found = spectra_eigenpairs(solve,
                                                     options.count,
                                                     SpectrumEnd::kLargestMagnitude,
                                                     options.tolerance,
                                                     options.seed,
                                                     kEigenpairs,
                                                     control);
  const Vector values = found.values.cwiseInverse().array() + inverse.shift;
  Eigenpairs result;
  result.used_shift = inverse.shift;
  result.solves = found.products;
  result.converged = values.size() == options.count && found.all_copies;
  const std::vector<Index> order = ascending((values.array() - options.shift).abs());
  result.values = values(order);
  result.vectors = found.vectors(Eigen::all, order);
  const Matrix residuals =
      checked.apply(result.vectors) - result.vectors * result.values.asDiagonal();
  result.residuals = residuals.colwise().norm();
  return result;
}

}  // namespace matapprox
