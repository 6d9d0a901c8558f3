#include "matapprox/methods/eigenpairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/spectra.hpp"

namespace matapprox {
namespace {

constexpr const char* kEigenpairs = "eigenpairs";
/// How far a shift that is an eigenvalue moves, relative to the largest entry: far above the
/// rounding of a factorization, far below what tells eigenvalues apart.
constexpr double kMove = 1e-7;
/// Relative to the norm of A and the shift.
constexpr double kLargestResidual = 1e-8;
/// More than the wanted pairs, where the shift has moved and others may be nearer to it.
constexpr Index kSpare = 4;

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
  const double scale = std::max(largest_entry(A), std::abs(shift));
  const double move = kMove * (scale > 0 ? scale : 1.0);
  if (auto inverse = usable_inverse(A, shift, move, seed)) return {std::move(inverse), shift};
  return {usable_inverse(A, shift - move, 0, seed), shift - move};
}

/// The largest sum of absolute values of a row.
double row_sum_norm(const SparseMatrix& A) {
  double largest = 0;
  for (Index i = 0; i < A.outerSize(); ++i) {
    double sum = 0;
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) sum += std::abs(entry.value());
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Where `keys` has its smallest, second smallest, ... entry.
std::vector<Index> ascending(const Vector& keys) {
  std::vector<Index> order(static_cast<std::size_t>(keys.size()));
  std::iota(order.begin(), order.end(), Index{0});
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return keys(i) < keys(j); });
  return order;
}

/// The eigenpairs of A itself on the span of what was found, the nearest first: the error of a
/// value is then of the order of its residual squared, also where some lie close together.
void take_nearest(const LinearOperator& A,
                  const Matrix& vectors,
                  const NearestEigenpairsOptions& options,
                  Eigenpairs& result) {
  const Matrix Q = kernels::thin_qr(vectors);
  const Matrix T = Q.transpose() * A.apply(Q);
  const kernels::SymmetricEigen on_span = kernels::symmetric_eigen((T + T.transpose()) / 2);
  std::vector<Index> order = ascending((on_span.values.array() - options.shift).abs());
  order.resize(std::min(order.size(), static_cast<std::size_t>(options.count)));
  result.values = on_span.values(order);
  result.vectors = Q * on_span.vectors(Eigen::all, order);
  const Matrix R = A.apply(result.vectors) - result.vectors * result.values.asDiagonal();
  result.residuals.resize(R.cols());
  for (Index c = 0; c < R.cols(); ++c) result.residuals(c) = R.col(c).stableNorm();
}

/// Empty where the result is what was asked for.
std::string what_is_uncertain(const SparseMatrix& A,
                              const NearestEigenpairsOptions& options,
                              Index searched,
                              const SpectraEigenpairs& found,
                              const Eigenpairs& result) {
  if (found.values.size() < searched) {
    return fmt::format("{} of {} eigenvalues converged; others may be as near",
                       result.values.size(),
                       options.count);
  }
  const double bound = kLargestResidual * (row_sum_norm(A) + std::abs(options.shift));
  if (!(result.residuals.maxCoeff() <= bound)) {
    return fmt::format("a residual is {:.2g}, too large to trust its eigenvalue",
                       result.residuals.maxCoeff());
  }
  if (!found.all_copies) return "copies of repeated eigenvalues may be missing";
  // All within this distance of the shift that was used are known.
  const double known = 1 / std::abs(found.values(searched - 1));
  const double move = std::abs(result.used_shift - options.shift);
  const double farthest = std::abs(result.values(result.values.size() - 1) - options.shift);
  const double rounding = 1e-3 * move + 1e-9 * known;  // those that are as near do not count
  if (searched < A.rows() && farthest > known - move + rounding) {
    return fmt::format(
        "the shift is next to an eigenvalue and was moved by {:.2g}; another one may "
        "be nearer by less than twice that",
        move);
  }
  return {};
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
  require(std::isfinite(options.shift),
          "{}: the shift {} is not a finite number",
          kEigenpairs,
          options.shift);
  require(options.count >= 1 && options.count <= A.rows(),
          "{}: count {} is outside 1..{}",
          kEigenpairs,
          options.count,
          A.rows());
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
  const bool moved = inverse.shift != options.shift;
  const Index searched = moved ? std::min(A.rows(), options.count + kSpare) : options.count;
  const SpectraEigenpairs found = spectra_eigenpairs(solve,
                                                     searched,
                                                     SpectrumEnd::kLargestMagnitude,
                                                     options.tolerance,
                                                     options.seed,
                                                     kEigenpairs,
                                                     control);
  Eigenpairs result;
  result.used_shift = inverse.shift;
  result.solves = found.products;
  if (found.values.size() > 0) take_nearest(checked, found.vectors, options, result);
  result.message = what_is_uncertain(symmetric, options, searched, found, result);
  result.converged = result.message.empty();
  return result;
}

}  // namespace matapprox
