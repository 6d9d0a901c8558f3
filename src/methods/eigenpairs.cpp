#include "matapprox/methods/eigenpairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "matapprox/core/random.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "matapprox/operators/inverse.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/spectra.hpp"
#include "operators/symmetry.hpp"

namespace matapprox {
namespace {

constexpr const char* kEigenpairs = "eigenpairs";
/// Distance by which a shift that is an eigenvalue is moved, relative to the largest entry: far
/// above the rounding of a factorization, far below the gaps between eigenvalues.
constexpr double kMove = 1e-7;
/// Largest accepted residual, relative to the norm of A alone: a far shift does not make an
/// eigenvalue less well determined.
constexpr double kLargestResidual = 1e-8;
/// A shift of more than this many norms of A is about equally far from all eigenvalues.
constexpr double kFarShift = 2;
/// Number of extra pairs to compute if the shift was moved, because others may be nearer to it.
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

double largest_nonzero(const SparseMatrix& A) {
  return A.nonZeros() == 0 ? 0.0 : A.coeffs().abs().maxCoeff();
}

/// Estimates the largest eigenvalue of (A - sigma I)^-1 from one random vector.
double largest_of(const LinearOperator& inverse, std::uint64_t seed) {
  Matrix x(inverse.cols(), 1);
  fill_normal(seed, RandomStream::kSketch, x, 0, 0);
  const double share = std::sqrt(static_cast<double>(x.size()));  // |x| over one component
  return share * inverse.apply(x).stableNorm() / x.norm();
}

/// Returns null if the shift is so near to an eigenvalue that the others would be lost in the
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
  const double scale = std::max(largest_nonzero(A), std::abs(shift));
  const double move = kMove * (scale > 0 ? scale : 1.0);
  if (auto inverse = usable_inverse(A, shift, move, seed)) return {std::move(inverse), shift};
  return {usable_inverse(A, shift - move, 0, seed), shift - move};
}

/// Returns |A|_inf, the largest absolute row sum.
double row_sum_norm(const SparseMatrix& A) {
  double largest = 0;
  for (Index i = 0; i < A.outerSize(); ++i) {
    double sum = 0;
    for (SparseMatrix::InnerIterator entry(A, i); entry; ++entry) sum += std::abs(entry.value());
    largest = std::max(largest, sum);
  }
  return largest;
}

/// Indices that sort `keys` in ascending order.
std::vector<Index> ascending(const Vector& keys) {
  std::vector<Index> order = index_range(0, keys.size());
  std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) { return keys(i) < keys(j); });
  return order;
}

/// Computes the eigenpairs of A itself on the span of the vectors found, the nearest to the shift
/// first. The error of a value is then of the order of its squared residual, even where values are
/// close together.
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

/// Result of a search, and the distance from the shift within which it found all eigenvalues.
struct Search {
  SpectraEigenpairs found;
  Index wanted = 0;
  double used_shift = 0;
  double known_distance = 0;
};

/// Runs Lanczos on (A - sigma I)^-1, whose largest eigenvalues belong to those of A nearest to the
/// shift.
Search search_by_inverse(const SparseMatrix& A,
                         const NearestEigenpairsOptions& options,
                         const RunControl& control) {
  const ShiftedInverse inverse = invert(A, options.shift, options.seed);
  const SymmetricProduct solve{
      A.rows(), [&](const Vector& x, Vector& y) { inverse.product->apply(x, Block(y)); }};
  const double move = std::abs(inverse.shift - options.shift);
  Search search;
  search.wanted = move > 0 ? std::min(A.rows(), options.count + kSpare) : options.count;
  search.used_shift = inverse.shift;
  search.found = spectra_eigenpairs(solve,
                                    search.wanted,
                                    SpectrumEnd::kLargestMagnitude,
                                    options.tolerance,
                                    options.seed,
                                    kEigenpairs,
                                    control);
  if (search.found.values.size() == search.wanted) {
    search.known_distance = 1 / std::abs(search.found.values(search.wanted - 1)) - move;
  }
  return search;
}

/// Runs Lanczos on |A|_inf I + A, or |A|_inf I - A for a shift below the spectrum. For a far shift,
/// the eigenvalues of (A - sigma I)^-1 agree to |A| / |sigma|, so that copies of a value could not
/// be told from others; here the gaps are those of A.
Search search_at_the_end(const SparseMatrix& A,
                         double norm,
                         const NearestEigenpairsOptions& options,
                         const RunControl& control) {
  const double sign = options.shift > 0 ? 1 : -1;
  const SparseOperator product(A);
  const SymmetricProduct shifted_up{A.rows(), [&](const Vector& x, Vector& y) {
                                      product.apply(x, Block(y));
                                      y = norm * x + sign * y;
                                    }};
  Search search;
  search.wanted = options.count;
  search.used_shift = options.shift;
  search.known_distance = std::numeric_limits<double>::infinity();
  search.found = spectra_eigenpairs(shifted_up,
                                    search.wanted,
                                    SpectrumEnd::kLargest,
                                    options.tolerance,
                                    options.seed,
                                    kEigenpairs,
                                    control);
  return search;
}

/// Returns why the result may be incomplete; empty if it is complete.
std::string what_is_uncertain(double norm,
                              const NearestEigenpairsOptions& options,
                              const Search& search,
                              const Eigenpairs& result) {
  if (search.found.values.size() < search.wanted) {
    return fmt::format("{} of {} eigenvalues converged; others may be equally close",
                       result.values.size(),
                       options.count);
  }
  if (!(result.residuals.maxCoeff() <= kLargestResidual * norm)) {
    return fmt::format("a residual is {:.2g}, too large to trust its eigenvalue",
                       result.residuals.maxCoeff());
  }
  if (!search.found.all_copies) return "copies of repeated eigenvalues may be missing";
  const double move = std::abs(result.used_shift - options.shift);
  const double farthest = std::abs(result.values(result.values.size() - 1) - options.shift);
  // Eigenvalues at the same distance, up to rounding, do not count as nearer.
  const double rounding = 1e-3 * move + 1e-9 * (search.known_distance + move);
  if (search.wanted < result.vectors.rows() && farthest > search.known_distance + rounding) {
    return fmt::format(
        "the shift is next to an eigenvalue and was moved by {:.2g}; another eigenvalue may be "
        "nearer by less than twice that distance",
        move);
  }
  return {};
}

}  // namespace

Eigenpairs nearest_eigenpairs(const SparseMatrix& A,
                              const NearestEigenpairsOptions& options,
                              const RunControl& control) {
  const SparseOperator checked(A);
  require_symmetric(
      checked, fmt::format("{}: eigenvalues next to a shift need a symmetric matrix", kEigenpairs));
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
  const double norm = row_sum_norm(A);
  const Search search = std::abs(options.shift) > kFarShift * norm
                            ? search_at_the_end(A, norm, options, control)
                            : search_by_inverse(A, options, control);
  Eigenpairs result;
  result.used_shift = search.used_shift;
  result.solves = search.found.products;
  if (search.found.values.size() > 0) {
    take_nearest(checked, search.found.vectors, options, result);
  }
  result.message = what_is_uncertain(norm, options, search, result);
  result.converged = result.message.empty();
  return result;
}

SmallestEigenvalue smallest_eigenvalue(const LinearOperator& A,
                                       const SmallestEigenvalueOptions& options) {
  const Index n = A.rows();
  require(n > 0 && A.cols() == n,
          "smallest eigenvalue: the matrix is {} x {}, not square",
          A.rows(),
          A.cols());
  require(A.known_facts().symmetric.value_or(true),
          "smallest eigenvalue: the matrix is not symmetric");
  require(options.max_products >= 1,
          "smallest eigenvalue: max_products {} is not at least 1",
          options.max_products);
  const Index most = std::min(n, options.max_products);
  Matrix V(n, most);
  Matrix T = Matrix::Zero(most, most);
  Vector next = random_normal_matrix(options.seed, RandomStream::kSketch, n, 1);
  double beta = 0;
  SmallestEigenvalue found;
  for (Index j = 0; j < most; ++j) {
    V.col(j) = next / next.norm();
    next = A.apply(V.col(j));
    if (!next.allFinite()) throw NumericalError("smallest eigenvalue: a product holds NaN or Inf");
    T(j, j) = V.col(j).dot(next);
    for (int pass = 0; pass < 2; ++pass)
      next -= V.leftCols(j + 1) * (V.leftCols(j + 1).transpose() * next);
    beta = next.norm();
    const kernels::SymmetricEigen ritz = kernels::symmetric_eigen(T.topLeftCorner(j + 1, j + 1));
    found.largest_modulus = ritz.values.cwiseAbs().maxCoeff();
    found.value = ritz.values(0);
    found.residual = beta * std::abs(ritz.vectors(j, 0));
    found.products = j + 1;
    const double rounding = 1e-14 * std::max(found.largest_modulus, beta);
    if (beta <= rounding ||
        found.residual <= std::max(options.tolerance * std::abs(found.value), rounding))
      break;
    if (j + 1 < most) T(j + 1, j) = T(j, j + 1) = beta;
  }
  return found;
}

}  // namespace matapprox
