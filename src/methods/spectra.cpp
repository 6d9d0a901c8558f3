#include "methods/spectra.hpp"

#include <Spectra/SymEigsSolver.h>
#include <Spectra/Util/Version.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <vector>

#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

constexpr Index kMaxSpectraRestarts = 300;
/// How well the largest value of what is left has to be known before it is told from a copy.
constexpr double kRoughTolerance = 1e-3;
/// Values that differ by less are copies of one another, whichever of them was found.
constexpr double kSameValue = 1e-10;
/// Values below this share of the leading one are looked for without it.
constexpr double kRange = 1e-4;
/// Relative to the leading value, less than this is rounding.
constexpr double kSpectraRounding = 1e-14;

/// A, times a factor and without the components along known vectors, in the form that Spectra asks
/// for.
class DeflatedProduct {
 public:
  using Scalar = double;

  DeflatedProduct(const SymmetricProduct& A, const char* method, const RunControl& control)
      : A_(A), method_(method), control_(control) {}

  Index rows() const { return A_.order; }
  Index cols() const { return A_.order; }
  Index products() const { return products_; }
  void scale(double factor) { factor_ = factor; }
  /// `known` has orthonormal columns and stays where it is.
  void deflate(const Matrix& known) { known_ = &known; }

  void perform_op(const double* x_in, double* y_out) const {
    control_.throw_if_stopped(method_);
    if (control_.progress && products_ % 50 == 49) control_.progress({products_ + 1, -1, -1});
    ++products_;
    Vector x = Eigen::Map<const Vector>(x_in, A_.order);
    remove_known(x);
    Vector y(A_.order);
    A_.multiply(x, y);
    y *= factor_;
    remove_known(y);
    Eigen::Map<Vector>(y_out, A_.order) = y;
  }

 private:
  void remove_known(Vector& x) const {
    if (known_ == nullptr) return;
    for (int twice = 0; twice < 2; ++twice) {
      const Vector along = known_->transpose() * x;
      x.noalias() -= *known_ * along;
    }
  }

  const SymmetricProduct& A_;
  const char* method_;
  const RunControl& control_;
  double factor_ = 1;
  const Matrix* known_ = nullptr;
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
    SpectraEigenpairs found{Vector(0), Matrix(op_.rows(), 0)};
    while (found.values.size() < count) {
      const SpectraEigenpairs more = leading_pairs(count - found.values.size(), tolerance);
      if (more.values.size() == 0) break;
      append(more, found);
      op_.deflate(found.vectors);
    }
    if (found.values.size() == count) add_copies(tolerance, found);
    found.products = op_.products();
    return found;
  }

 private:
  Vector random_start() {
    Matrix start(op_.rows(), 1);
    fill_normal(seed_, RandomStream::kSketch, start, 0, starts_++);
    return start.col(0);
  }

  /// A power of two, so that scaling changes no bits; 0 for the zero matrix.
  double power_of_two_near_the_norm(const Vector& x) {
    op_.scale(1);
    Vector y(op_.rows());
    op_.perform_op(x.data(), y.data());
    const double ratio = y.stableNorm() / x.norm();
    return ratio > 0 ? std::exp2(std::floor(std::log2(ratio))) : 0.0;
  }

  /// Spectra takes fixed numbers for zero and for converged, so it is given a matrix of a norm
  /// near 1. As many pairs as converge; none where Spectra gives up, as it does if its tridiagonal
  /// matrix resists the QR iterations.
  SpectraEigenpairs solve(Index count, double tolerance) {
    const Vector start = random_start();
    const double norm = power_of_two_near_the_norm(start);
    const Index n = op_.rows();
    if (norm == 0.0) return {Vector::Zero(count), Matrix::Identity(n, count)};
    op_.scale(1 / norm);
    const Index space = std::min(n, std::max<Index>(2 * count + 1, 20));
    Spectra::SymEigsSolver<DeflatedProduct> solver(op_, count, space);
    solver.init(start.data());
    const auto rule = end_ == SpectrumEnd::kLargest ? Spectra::SortRule::LargestAlge
                                                    : Spectra::SortRule::LargestMagn;
    try {
      solver.compute(rule, kMaxSpectraRestarts, tolerance, rule);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::runtime_error&) {
      return {Vector(0), Matrix(n, 0)};
    }
    return {norm * solver.eigenvalues(), solver.eigenvectors()};
  }

  double rank_of(double value) const {
    return end_ == SpectrumEnd::kLargest ? value : std::abs(value);
  }

  /// Up to `count` pairs of what is left, those of about the size of the leading one: a residual
  /// that is small beside a value far below it would be lost in the rounding of the leading one.
  /// The others come when these are taken out and what is left is scaled anew.
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

  /// Both sets together, in the order of the wanted end: what is left may hold copies.
  void append(const SpectraEigenpairs& more, SpectraEigenpairs& found) const {
    const Index known = found.values.size();
    Vector values(known + more.values.size());
    values << found.values, more.values;
    Matrix vectors(op_.rows(), values.size());
    vectors << found.vectors, more.vectors;
    std::vector<Index> order(static_cast<std::size_t>(values.size()));
    std::iota(order.begin(), order.end(), Index{0});
    std::stable_sort(order.begin(), order.end(), [&](Index i, Index j) {
      return rank_of(values(i)) > rank_of(values(j));
    });
    found.values = values(order);
    found.vectors = vectors(Eigen::all, order);
  }

  /// The leading pair of what is left takes the place of the last one found as long as it belongs
  /// before it.
  void add_copies(double tolerance, SpectraEigenpairs& found) {
    op_.deflate(found.vectors);
    const Index last = found.values.size() - 1;
    for (Index round = 0; round <= last; ++round) {
      const double least = rank_of(found.values(last));
      const double difference = kSpectraRounding * std::abs(found.values(0));
      const auto rough = leading_of_the_rest(kRoughTolerance, found);
      if (!rough || rank_of(rough->values(0)) * (1 + kRoughTolerance) <= least + difference) return;
      const auto next = leading_of_the_rest(tolerance, found);
      if (!next || rank_of(next->values(0)) <= least * (1 + kSameValue) + difference) return;
      append(*next, found);
      found.values.conservativeResize(last + 1);
      found.vectors.conservativeResize(Eigen::NoChange, last + 1);
    }
    found.all_copies = false;
  }

  /// Nothing, and that copies may be missing, if it does not converge.
  std::optional<SpectraEigenpairs> leading_of_the_rest(double tolerance, SpectraEigenpairs& found) {
    SpectraEigenpairs rest = solve(1, tolerance);
    found.all_copies = rest.values.size() == 1;
    if (!found.all_copies) return std::nullopt;
    return rest;
  }

  DeflatedProduct op_;
  SpectrumEnd end_;
  std::uint64_t seed_;
  Index starts_ = 0;
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
