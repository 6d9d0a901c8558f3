#include "methods/spectra.hpp"

#include <Spectra/SymEigsSolver.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

constexpr Index kMaxRestarts = 300;
/// How well the largest value of what is left has to be known before it is told from a copy.
constexpr double kRoughTolerance = 1e-3;
/// Values that differ by less are copies of one another, whichever of them was found.
constexpr double kSameValue = 1e-10;

/// A 2^exponent without the components along `known`, in the form that Spectra asks for.
class ScaledProduct {
 public:
  using Scalar = double;

  ScaledProduct(const SymmetricProduct& A, double factor, const char* method, const RunControl& control)
      : A_(A), factor_(factor), method_(method), control_(control) {}

  Index rows() const { return A_.order; }
  Index cols() const { return A_.order; }
  Index products() const { return products_; }
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
  double factor_;
  const char* method_;
  const RunControl& control_;
  const Matrix* known_ = nullptr;
  mutable Index products_ = 0;
};

class LanczosSearch {
 public:
  LanczosSearch(const SymmetricProduct& A, SpectrumEnd end, std::uint64_t seed, const char* method, const RunControl& control)
      : A_(A), end_(end), seed_(seed), method_(method), control_(control) {}

  SpectraEigenpairs run(Index count, double tolerance) {
    const double scale = power_of_two_near_the_norm();
    if (scale == 0.0) return zero_pairs(count);
    ScaledProduct op(A_, 1 / scale, method_, control_);
    SpectraEigenpairs found = solve(op, count, tolerance);
    if (found.values.size() == count) add_copies(op, tolerance, found);
    found.values *= scale;
    found.products = op.products() + 1;
    return found;
  }

 private:
  Vector random_start() {
    Matrix start(A_.order, 1);
    fill_normal(seed_, RandomStream::kSketch, start, 0, starts_++);
    return start.col(0);
  }

  /// Spectra compares residuals with 4e-11 times the value or 1, whichever is larger: a matrix
  /// whose values are far from 1 would be done too early or never. A power of two changes no bits.
  double power_of_two_near_the_norm() {
    const Vector x = random_start();
    Vector y(A_.order);
    A_.multiply(x, y);
    const double ratio = y.stableNorm() / x.norm();
    return ratio > 0 ? std::exp2(std::floor(std::log2(ratio))) : 0.0;
  }

  SpectraEigenpairs zero_pairs(Index count) const {
    return {Vector::Zero(count), Matrix::Identity(A_.order, count), 1, true};
  }

  SpectraEigenpairs solve(ScaledProduct& op, Index count, double tolerance) {
    const Index space = std::min(A_.order, std::max<Index>(2 * count + 1, 20));
    Spectra::SymEigsSolver<ScaledProduct> solver(op, count, space);
    const Vector start = random_start();
    solver.init(start.data());
    const auto rule = end_ == SpectrumEnd::kLargest ? Spectra::SortRule::LargestAlge
                                                    : Spectra::SortRule::LargestMagn;
    solver.compute(rule, kMaxRestarts, tolerance, rule);
    return {solver.eigenvalues(), solver.eigenvectors(), 0, true};
  }

  double rank_of(double value) const {
    return end_ == SpectrumEnd::kLargest ? value : std::abs(value);
  }

  /// The leading pair of what is left takes the place of the last one found as long as it belongs
  /// before it.
  void add_copies(ScaledProduct& op, double tolerance, SpectraEigenpairs& found) {
    const Index last = found.values.size() - 1;
    for (Index round = 0; round <= last; ++round) {
      op.deflate(found.vectors);
      const double least = rank_of(found.values(last));
      const SpectraEigenpairs rough = solve(op, 1, kRoughTolerance);
      found.all_copies = rough.values.size() == 1;
      if (!found.all_copies ||
          rank_of(rough.values(0)) + kRoughTolerance * std::abs(rough.values(0)) < least) {
        return;
      }
      const SpectraEigenpairs next = solve(op, 1, tolerance);
      found.all_copies = next.values.size() == 1;
      if (!found.all_copies || rank_of(next.values(0)) <= least * (1 + kSameValue)) return;
      insert(next.values(0), next.vectors.col(0), found);
    }
  }

  void insert(double value, const Vector& vector, SpectraEigenpairs& found) const {
    Index at = found.values.size() - 1;
    for (; at > 0 && rank_of(found.values(at - 1)) < rank_of(value); --at) {
      found.values(at) = found.values(at - 1);
      found.vectors.col(at) = found.vectors.col(at - 1);
    }
    found.values(at) = value;
    found.vectors.col(at) = vector;
  }

  const SymmetricProduct& A_;
  SpectrumEnd end_;
  std::uint64_t seed_;
  const char* method_;
  const RunControl& control_;
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

}  // namespace matapprox
