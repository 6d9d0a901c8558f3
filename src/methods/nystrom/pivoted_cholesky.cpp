#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/large_pages.hpp"
#include "device/partial_cholesky.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "methods/finite.hpp"
#include "methods/nystrom/landmarks.hpp"

namespace matapprox {
namespace {

constexpr Index kSmallestBlock = 8;
constexpr Index kLargestBlock = 96;
constexpr Index kStretch = 4096;
/// The residual diagonal is rounding once its sum is this share of the trace.
constexpr double kNothingLeft = 1e-14;

/// Indices drawn with replacement, with probability proportional to d; each distinct one once, in
/// the order of the draws.
std::vector<Index> propose(const Vector& d, Index count, std::uint64_t seed, Index round) {
  Vector sums(d.size());
  double sum = 0;
  for (Index i = 0; i < d.size(); ++i) sums(i) = sum += d(i);
  std::vector<Index> chosen;
  for (Index t = 0; t < count; ++t) {
    const double target = sum * random_uniform(seed, RandomStream::kSampling, 2 * round, t);
    const double* at = std::upper_bound(sums.data(), sums.data() + sums.size(), target);
    Index index = std::min<Index>(at - sums.data(), d.size() - 1);
    while (index > 0 && d(index) <= 0) --index;
    if (std::find(chosen.begin(), chosen.end(), index) == chosen.end()) chosen.push_back(index);
  }
  return chosen;
}

struct Accepted {
  std::vector<Index> positions;  ///< in the list of proposals
  Matrix lower;                  ///< Cholesky factor of the residual at the accepted ones
};

/// Goes through the proposals and keeps each with probability (residual now) / (residual when
/// proposed). H is the residual matrix at the proposals.
Accepted reject(Matrix H, Index at_most, std::uint64_t seed, Index round) {
  const Vector proposed = H.diagonal();
  const Index b = H.rows();
  Matrix eliminated(b, 0);
  Accepted result;
  for (Index i = 0; i < b && static_cast<Index>(result.positions.size()) < at_most; ++i) {
    const double u = random_uniform(seed, RandomStream::kSampling, 2 * round + 1, i);
    const double floor = 1e-12 * proposed(i);
    if (!(H(i, i) > floor) || !(u * proposed(i) < H(i, i))) continue;
    const Vector l = H.col(i) / std::sqrt(H(i, i));
    H.noalias() -= l * l.transpose();
    eliminated.conservativeResize(Eigen::NoChange, eliminated.cols() + 1);
    eliminated.rightCols(1) = l;
    result.positions.push_back(i);
  }
  result.lower = eliminated(result.positions, Eigen::all);
  return result;
}

Matrix inverse_transpose(const Matrix& lower) {
  const Index n = lower.rows();
  return lower.transpose().triangularView<Eigen::Upper>().solve(Matrix::Identity(n, n));
}

/// d(i) -= |G(i,:)|^2; returns the smallest value met.
double subtract_row_norms(const ConstBlock& G, Vector& d) {
  const Index stretches = (d.size() + kStretch - 1) / kStretch;
  Vector least(stretches);
  parallel_for(stretches, [&](Index s) {
    const Index first = s * kStretch;
    const Index count = std::min(kStretch, d.size() - first);
    d.segment(first, count) -= G.middleRows(first, count).rowwise().squaredNorm();
    least(s) = d.segment(first, count).minCoeff();
  });
  return least.minCoeff();
}

class HostCholesky final : public PartialCholesky {
 public:
  HostCholesky(const LinearOperator& A, Index k)
      : A_(A), kept_columns_(A.rows(), k), factor_(A.rows(), k) {
    const auto bytes = static_cast<std::size_t>(factor_.size()) * sizeof(double);
    prefer_large_pages(kept_columns_.data(), bytes);
    prefer_large_pages(factor_.data(), bytes);
  }

  Matrix propose(std::span<const Index> S) override {
    proposed_ = A_.columns_at(S);
    require_finite(proposed_, "nystrom");
    return proposed_(S, Eigen::all);
  }
  Matrix factor_rows(std::span<const Index> S) const override {
    return factor_.leftCols(kept_)(S, Eigen::all);
  }
  double accept(const std::vector<Index>& positions,
                const Matrix& F_T,
                const Matrix& inverse_transpose,
                Vector& d) override {
    const auto fresh = static_cast<Index>(positions.size());
    Matrix G = proposed_(Eigen::all, positions);
    kept_columns_.middleCols(kept_, fresh) = G;
    if (kept_ > 0) {
      kernels::gemm(
          kernels::Trans::kNo, factor_.leftCols(kept_), kernels::Trans::kYes, F_T, G, -1.0, 1.0);
    }
    Block grown = factor_.middleCols(kept_, fresh);
    kernels::gemm(kernels::Trans::kNo, G, kernels::Trans::kNo, inverse_transpose, grown);
    kept_ += fresh;
    return subtract_row_norms(grown, d);
  }
  Matrix take_columns() override {
    kept_columns_.conservativeResize(Eigen::NoChange, kept_);
    return std::move(kept_columns_);
  }

 private:
  const LinearOperator& A_;
  Matrix kept_columns_;
  Matrix factor_;
  Matrix proposed_;
  Index kept_ = 0;
};

}  // namespace

Landmarks pivoted_cholesky_landmarks(const LinearOperator& A,
                                     const Vector& diagonal,
                                     Index k,
                                     std::uint64_t seed,
                                     const RunControl& control) {
  const double trace = diagonal.sum();
  const double largest = diagonal.maxCoeff();
  Landmarks result;
  result.rounds = 0;
  std::unique_ptr<PartialCholesky> tall = make_gpu_cholesky(A, k);
  if (tall == nullptr) tall = std::make_unique<HostCholesky>(A, k);
  Vector d = diagonal.cwiseMax(0.0);
  Index taken = 0;
  Index block = std::clamp(k / 8, kSmallestBlock, kLargestBlock);
  while (taken < k && d.sum() > kNothingLeft * trace) {
    control.throw_if_stopped("nystrom");
    const std::vector<Index> S = propose(d, std::min(block, 2 * (k - taken)), seed, result.rounds);
    Matrix H = tall->propose(S);
    const Matrix F_S = tall->factor_rows(S);
    if (taken > 0) {
      kernels::gemm(kernels::Trans::kNo, F_S, kernels::Trans::kYes, F_S, H, -1.0, 1.0);
    }
    H.diagonal() = d(S);
    const Accepted accepted = reject(std::move(H), k - taken, seed, result.rounds++);
    const auto fresh = static_cast<Index>(accepted.positions.size());
    const double least = tall->accept(accepted.positions,
                                      F_S(accepted.positions, Eigen::all),
                                      inverse_transpose(accepted.lower),
                                      d);
    for (const Index position : accepted.positions) {
      const Index landmark = S[static_cast<std::size_t>(position)];
      result.indices.push_back(landmark);
      d(landmark) = 0;
    }
    taken += fresh;
    if (least < -kNegative * largest) {
      result.negative =
          fmt::format("a residual diagonal entry fell to {:.3g} after {} landmarks", least, taken);
      break;
    }
    d = d.cwiseMax(0.0);
    const bool many = 10 * fresh > 7 * static_cast<Index>(S.size());
    const bool few = 10 * fresh < 4 * static_cast<Index>(S.size());
    if (many) block = std::min(2 * block, kLargestBlock);
    if (few) block = std::max(block / 2, kSmallestBlock);
    if (control.progress) {
      control.progress({result.rounds, -1, static_cast<double>(taken) / static_cast<double>(k)});
    }
  }
  result.columns = tall->take_columns();
  result.residual_diagonal = d;
  return result;
}

}  // namespace matapprox
