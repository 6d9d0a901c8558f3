#include "methods/spectra.hpp"

#include <Spectra/SymEigsSolver.h>
#include <Spectra/Util/Version.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/linear_operator.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/kernels/lapack.hpp"

namespace matapprox {
namespace {

constexpr Index kMaxSpectraRestarts = 300;
/// Number of random starts without a new pair after which a search ends.
constexpr int kMaxAttempts = 3;
/// Tolerance of a first, cheap estimate of the leading value after deflation, which decides whether
/// it may be a copy.
constexpr double kRoughTolerance = 1e-3;
/// Relative difference below which values are copies of one another.
constexpr double kSameValue = 1e-10;
/// Values below this fraction of the leading one are computed after it is deflated.
constexpr double kRange = 1e-4;
/// Rounding level relative to the leading value.
constexpr double kSpectraRounding = 1e-13;
/// Rounding level of a product with A, relative to the leading value and independent of deflation.
constexpr double kProductRounding = 1e-14;

/// A times a factor, with known vectors projected out, in the interface that Spectra requires.
class DeflatedProduct {
 public:
  using Scalar = double;

  DeflatedProduct(const SymmetricProduct& A, const char* method, const RunControl& control)
      : A_(A), method_(method), control_(control), known_(A.order, 0) {}

  Index rows() const { return A_.order; }
  Index cols() const { return A_.order; }
  /// Dimension of the complement of the known vectors.
  Index free() const { return A_.order - known_.cols(); }
  Index products() const { return products_; }
  bool is_mirrored() const { return A_.mirror > 0; }
  void scale(double factor) { factor_ = factor; }

  /// Projects out the span of the columns and of their mirror images.
  void deflate(const Matrix& vectors) {
    if (A_.mirror == 0) {
      known_ = vectors;
      return;
    }
    Matrix both(vectors.rows(), 2 * vectors.cols());
    both << vectors, vectors;
    both.bottomRightCorner(vectors.rows() - A_.mirror, vectors.cols()) *= -1;
    known_ = kernels::thin_qr(std::move(both));
  }

  void perform_op(const double* x_in, double* y_out) const {
    control_.throw_if_stopped(method_);
    if (control_.progress && products_ % 50 == 49) control_.progress({products_ + 1, -1, -1});
    ++products_;
    Vector x = Eigen::Map<const Vector>(x_in, A_.order);
    project(x);
    Vector y(A_.order);
    // A large factor is applied first: products with a small A would lose digits in the subnormal
    // range.
    if (factor_ > 1) x *= factor_;
    A_.multiply(x, y);
    if (factor_ < 1) y *= factor_;
    project(y);
    Eigen::Map<Vector>(y_out, A_.order) = y;
  }

  void project(Eigen::Ref<Vector> x) const {
    for (int twice = 0; twice < 2; ++twice) {
      const Vector along = known_.transpose() * x;
      x.noalias() -= known_ * along;
    }
  }

  Matrix times(const Matrix& X) const {
    Matrix Y(X.rows(), X.cols());
    for (Index c = 0; c < X.cols(); ++c) perform_op(X.col(c).data(), Y.col(c).data());
    return Y;
  }

 private:
  const SymmetricProduct& A_;
  const char* method_;
  const RunControl& control_;
  Matrix known_;
  double factor_ = 1;
  mutable Index products_ = 0;
};

class LanczosSearch {
 public:
  LanczosSearch(const SymmetricProduct& A,
                SpectrumEnd end,
                std::uint64_t seed,
                const char* method,
                const RunControl& control)
      : op_(A, method, control), end_(end), seed_(seed) {}

  SpectraEigenpairs run(Index count, double tolerance) {
    // The whole matrix is decomposed where a Lanczos space would span nearly everything.
    SpectraEigenpairs found =
        2 * count + 20 >= op_.rows() ? of_the_whole(count) : search(count, tolerance);
    found.products = op_.products();
    return found;
  }

 private:
  SpectraEigenpairs none() const { return {Vector(0), Matrix(op_.rows(), 0)}; }

  double rank_of(double value) const {
    return end_ == SpectrumEnd::kLargest ? value : std::abs(value);
  }

  /// Returns the first `count` pairs in the order of the wanted end.
  SpectraEigenpairs sorted(const Vector& values, const Matrix& vectors, Index count) const {
    std::vector<Index> order = index_range(0, values.size());
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
      return rank_of(values(i)) > rank_of(values(j));
    });
    order.resize(static_cast<std::size_t>(std::min(count, values.size())));
    return {values(order), vectors(Eigen::all, order)};
  }

  SpectraEigenpairs of_the_whole(Index count) {
    const Matrix T = op_.times(Matrix::Identity(op_.rows(), op_.rows()));
    const kernels::SymmetricEigen eigen = kernels::symmetric_eigen((T + T.transpose()) / 2);
    return sorted(eigen.values, eigen.vectors, count);
  }

  SpectraEigenpairs search(Index count, double tolerance) {
    SpectraEigenpairs found = none();
    for (int attempt = 0; found.values.size() < count && attempt < kMaxAttempts;) {
      const SpectraEigenpairs more = leading_pairs(count - found.values.size(), tolerance);
      if (more.values.size() == 0) {
        ++attempt;
        continue;
      }
      append(more, count, found);
      op_.deflate(found.vectors);
    }
    if (found.values.size() == count) add_copies(tolerance, found);
    return found;
  }

  void append(const SpectraEigenpairs& more, Index count, SpectraEigenpairs& found) const {
    Vector values(found.values.size() + more.values.size());
    values << found.values, more.values;
    Matrix vectors(op_.rows(), values.size());
    vectors << found.vectors, more.vectors;
    found = sorted(values, vectors, count);
  }

  /// Computes up to `count` leading pairs of the deflated matrix, those with values of about the
  /// size of the leading one. A residual that is small relative to a far smaller value would be
  /// lost in the rounding of the leading one; such pairs follow after deflation and rescaling.
  SpectraEigenpairs leading_pairs(Index count, double tolerance) {
    SpectraEigenpairs pairs = solve(count, tolerance);
    while (pairs.values.size() == 0 && count > 1) {
      count = (count + 1) / 2;
      pairs = solve(count, tolerance);
    }
    if (pairs.values.size() == 0) return pairs;
    const double least = kRange * pairs.values.cwiseAbs().maxCoeff();
    const Index alike = (pairs.values.array().abs() >= least).count();
    return alike == pairs.values.size() ? pairs : solve(alike, tolerance);
  }

  /// Computes the leading pairs of the deflated matrix that converge. Spectra uses absolute
  /// thresholds for zero and for convergence, so the matrix is scaled to a norm near 1. If Spectra
  /// loses the leading pair, the pairs of the Krylov space of its start are returned.
  SpectraEigenpairs solve(Index count, double tolerance) {
    Matrix start = random_columns(1);
    op_.scale(1);
    const double ratio = op_.times(start).stableNorm() / start.norm();
    // After deflation, A is zero or rounding.
    if (ratio <= kProductRounding * leading_) {
      return {Vector::Zero(count), kernels::thin_qr(random_columns(count))};
    }
    // Scaling by a power of two is exact, and 1 / kLeast is finite.
    constexpr double kLeast = std::numeric_limits<double>::min();
    const double norm = std::exp2(std::floor(std::log2(std::max(ratio, kLeast))));
    op_.scale(1 / norm);
    const double floor = kProductRounding * leading_ / norm;
    tolerance = std::max(tolerance, floor);
    const Index space = std::min(op_.free(), std::max<Index>(2 * count + 1, 20));
    SpectraEigenpairs pairs =
        true_pairs(vectors_by_spectra(start, count, space, tolerance), tolerance, floor);
    if (lacks_leading_pair(pairs, start, tolerance)) {
      // A Krylov space that is not invariant may hold other pairs than the leading ones, and among
      // the close eigenvalues of a shifted inverse nothing would show it. For singular values, the
      // start shows it.
      const Matrix basis = krylov_basis(start, space);
      if (!op_.is_mirrored() && basis.cols() == space && space < op_.free()) return none();
      const SpectraEigenpairs all = true_pairs(basis, tolerance, floor);
      pairs = sorted(all.values, all.vectors, count);
      if (lacks_leading_pair(pairs, start, tolerance)) return none();
    }
    pairs.values *= norm;
    if (pairs.values.size() > 0) leading_ = std::max(leading_, std::abs(pairs.values(0)));
    return pairs;
  }

  /// Returns no columns if the QR iterations on Spectra's tridiagonal matrix fail.
  Matrix vectors_by_spectra(const Matrix& start, Index count, Index space, double tolerance) {
    Spectra::SymEigsSolver<DeflatedProduct> solver(op_, count, space);
    solver.init(start.data());
    const auto rule = end_ == SpectrumEnd::kLargest ? Spectra::SortRule::LargestAlge
                                                    : Spectra::SortRule::LargestMagn;
    try {
      solver.compute(rule, kMaxSpectraRestarts, tolerance, rule);
    } catch (const Error&) {
      throw;  // thrown by the product, not by Spectra
    } catch (const std::runtime_error&) {
      return Matrix::Zero(op_.rows(), 0);
    }
    return solver.eigenvectors();
  }

  /// True if the leading one of these pairs is below a bound that the start s gives: |A s| / |s| is
  /// at most the largest absolute value, and s^T A s / s^T s at most the largest value.
  bool lacks_leading_pair(const SpectraEigenpairs& pairs,
                          const Matrix& start,
                          double tolerance) const {
    const Vector s = start.col(0) / start.norm();
    const Vector image = op_.times(s);
    const bool by_size = end_ == SpectrumEnd::kLargestMagnitude || op_.is_mirrored();
    const double least = by_size ? image.norm() : s.dot(image);
    const double found = pairs.values.size() > 0 ? rank_of(pairs.values(0)) : 0.0;
    return found < least - (kSpectraRounding + 20 * tolerance) * std::max(image.norm(), found);
  }

  /// Returns orthonormal columns that span start, A start, A^2 start, ..., at most `space` of them.
  /// There are fewer if that space is invariant, as for an A of low rank or with few distinct
  /// values. Spectra would continue with columns that are not orthonormal and might lose the pairs
  /// it had.
  Matrix krylov_basis(const Matrix& start, Index space) {
    Matrix Q(op_.rows(), space);
    Vector next = start.col(0);
    Index size = 0;
    for (double before = 0; size < space; ++size) {
      const double norm = next.norm();
      if (norm <= kSpectraRounding * before) break;
      Q.col(size) = next / norm;
      next = op_.times(Q.col(size));
      before = next.norm();
      for (int twice = 0; twice < 2; ++twice) {
        const Vector along = Q.leftCols(size + 1).transpose() * next;
        next.noalias() -= Q.leftCols(size + 1) * along;
      }
    }
    return Q.leftCols(size);
  }

  /// Returns random columns orthogonal to the known vectors.
  Matrix random_columns(Index count) {
    Matrix columns(op_.rows(), count);
    fill_normal(seed_, RandomStream::kSketch, columns, 0, starts_);
    starts_ += count;
    for (Index c = 0; c < count; ++c) op_.project(columns.col(c));
    return columns;
  }

  /// Returns the eigenpairs on the span of the vectors whose residuals, computed here, are small.
  /// Spectra's own values are not used: where a Lanczos space becomes invariant early, as for few
  /// distinct values, Spectra continues with a basis that is not orthonormal and its values may be
  /// wrong.
  SpectraEigenpairs true_pairs(Matrix vectors, double tolerance, double floor) {
    if (vectors.cols() == 0) return none();
    for (Index c = 0; c < vectors.cols(); ++c) op_.project(vectors.col(c));
    if (!vectors.allFinite()) return none();
    const Matrix V = kernels::thin_qr(std::move(vectors));
    const Matrix W = op_.times(V);
    const Matrix T = V.transpose() * W;
    const kernels::SymmetricEigen eigen = kernels::symmetric_eigen((T + T.transpose()) / 2);
    const Matrix X = V * eigen.vectors;
    const Matrix R = W * eigen.vectors - X * eigen.values.asDiagonal();
    const double rounding = std::max(kSpectraRounding * eigen.values.cwiseAbs().maxCoeff(), floor);
    std::vector<Index> kept;
    for (Index i = 0; i < X.cols(); ++i) {
      if (R.col(i).norm() <= 10 * tolerance * std::abs(eigen.values(i)) + rounding) {
        kept.push_back(i);
      }
    }
    return sorted(eigen.values(kept), X(Eigen::all, kept), X.cols());
  }

  /// Replaces the last pair found by the leading pair of the deflated matrix as long as that one
  /// ranks before it.
  void add_copies(double tolerance, SpectraEigenpairs& found) {
    const Index count = found.values.size();
    found.all_copies = false;
    for (Index round = 0; round < count; ++round) {
      op_.deflate(found.vectors);
      const double least = rank_of(found.values(count - 1));
      const double difference = kSpectraRounding * std::abs(found.values(0));
      const std::optional<SpectraEigenpairs> rough = leading_of_the_rest(kRoughTolerance);
      if (!rough) return;
      if (rank_of(rough->values(0)) + 20 * kRoughTolerance * std::abs(rough->values(0)) <=
          least + difference) {
        found.all_copies = true;
        return;
      }
      const std::optional<SpectraEigenpairs> next = leading_of_the_rest(tolerance);
      if (!next) return;
      if (rank_of(next->values(0)) <= least + kSameValue * std::abs(least) + difference) {
        found.all_copies = true;
        return;
      }
      append(*next, count, found);
    }
  }

  /// Returns the leading pair of the deflated matrix; nothing if no pair converges.
  std::optional<SpectraEigenpairs> leading_of_the_rest(double tolerance) {
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      SpectraEigenpairs rest = solve(1, tolerance);
      if (rest.values.size() == 1) return rest;
    }
    return std::nullopt;
  }

  DeflatedProduct op_;
  SpectrumEnd end_;
  std::uint64_t seed_;
  Index starts_ = 0;
  double leading_ = 0;  ///< the largest absolute value found so far
};

}  // namespace

SpectraEigenpairs spectra_eigenpairs(const SymmetricProduct& A,
                                     Index count,
                                     SpectrumEnd end,
                                     double tolerance,
                                     std::uint64_t seed,
                                     const char* method,
                                     const RunControl& control) {
  return LanczosSearch(A, end, seed, method, control).run(count, tolerance);
}

bool spectra_is_available() { return true; }

std::string spectra_version() {
  return fmt::format(
      "{}.{}.{}", SPECTRA_MAJOR_VERSION, SPECTRA_MINOR_VERSION, SPECTRA_PATCH_VERSION);
}

}  // namespace matapprox
