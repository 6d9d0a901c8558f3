#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "checker.hpp"
#include "device/cuda/kernel_factors.hpp"
#include "device/cuda/tall_cholesky.hpp"

namespace matapprox::cuda {

/// A small column-major matrix.
struct SmallMatrix {
  Index rows;
  Index cols;
  std::vector<double> numbers;
  SmallMatrix(Index r, Index c) : rows(r), cols(c), numbers(static_cast<std::size_t>(r * c)) {}
  double& operator()(Index i, Index j) { return numbers[static_cast<std::size_t>(j * rows + i)]; }
  double operator()(Index i, Index j) const {
    return numbers[static_cast<std::size_t>(j * rows + i)];
  }
};

/// H -= F F^T.
inline void subtract_square(SmallMatrix& H, const SmallMatrix& F) {
  for (Index l = 0; l < F.cols; ++l) {
    for (Index j = 0; j < H.cols; ++j) {
      for (Index i = 0; i < H.rows; ++i) H(i, j) -= F(i, l) * F(j, l);
    }
  }
}

/// Randomly pivoted Cholesky of a Gaussian kernel matrix, whose diagonal is 1, in blocks with
/// rejection, as in src/methods/nystrom/landmarks.cpp: the tall matrices are in the memory
/// of the queue, small ones on the host.
template <class Queue>
class PivotedCholesky {
 public:
  PivotedCholesky(const Queue& queue, const GpuFactor& kernel, Index landmarks)
      : tall_(queue, kernel, landmarks),
        left_(static_cast<std::size_t>(kernel.rows()), 1.0),
        squares_(left_.size()) {
    constexpr double kNothingLeft = 1e-14;
    while (tall_.kept() < landmarks && trace_left() > kNothingLeft) take_round(landmarks);
  }

  const TallCholesky<Queue>& tall() const { return tall_; }
  /// Landmarks in the order of the columns.
  const std::vector<Index>& landmarks() const { return landmarks_; }
  Index rounds() const { return rounds_; }
  /// trace(K - F F^T) / trace(K): its error in the trace norm.
  double trace_left() const {
    double sum = 0;
    for (const double d : left_) sum += d;
    return sum / static_cast<double>(left_.size());
  }

 private:
  static constexpr Index kBlock = 96;

  double uniform() { return std::uniform_real_distribution<double>()(random_); }

  double& left_at(const std::vector<Index>& S, Index k) {
    return left_[static_cast<std::size_t>(S[static_cast<std::size_t>(k)])];
  }

  std::vector<Index> propose(Index count) {
    std::vector<double> sums(left_.size());
    double sum = 0;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] = sum += left_[i];
    std::vector<Index> chosen;
    for (Index t = 0; t < count; ++t) {
      const auto at = std::upper_bound(sums.begin(), sums.end(), sum * uniform());
      const Index index = std::min<Index>(at - sums.begin(), std::ssize(sums) - 1);
      if (std::find(chosen.begin(), chosen.end(), index) == chosen.end()) chosen.push_back(index);
    }
    return chosen;
  }

  /// Keeps each proposal with probability (residual now) / (residual when proposed). `eliminated`
  /// receives the columns of the Cholesky factor of H at the kept proposals, with rows for all
  /// proposals.
  std::vector<Index> reject(SmallMatrix& H, Index at_most, SmallMatrix& eliminated) {
    std::vector<Index> kept;
    std::vector<double> proposed;
    for (Index i = 0; i < H.rows; ++i) proposed.push_back(H(i, i));
    for (Index i = 0; i < H.rows && std::ssize(kept) < at_most; ++i) {
      const double before = proposed[static_cast<std::size_t>(i)];
      if (!(H(i, i) > 1e-12 * before) || !(uniform() * before < H(i, i))) continue;
      SmallMatrix l(H.rows, 1);
      const double root = std::sqrt(H(i, i));
      for (Index r = 0; r < H.rows; ++r) l(r, 0) = eliminated(r, std::ssize(kept)) = H(r, i) / root;
      subtract_square(H, l);
      kept.push_back(i);
    }
    return kept;
  }

  /// L^-T of the lower triangle L = eliminated(kept, :).
  static SmallMatrix inverse_transpose(const SmallMatrix& eliminated,
                                       const std::vector<Index>& kept) {
    const auto n = static_cast<Index>(kept.size());
    SmallMatrix M(n, n);
    for (Index c = 0; c < n; ++c) {
      // Row c of L^-T, from L z = e_c.
      for (Index i = c; i < n; ++i) {
        double sum = i == c ? 1 : 0;
        for (Index l = c; l < i; ++l)
          sum -= eliminated(kept[static_cast<std::size_t>(i)], l) * M(c, l);
        M(c, i) = sum / eliminated(kept[static_cast<std::size_t>(i)], i);
      }
    }
    return M;
  }

  void take_round(Index landmarks) {
    const Index missing = landmarks - tall_.kept();
    const std::vector<Index> S = propose(std::min(kBlock, 2 * missing));
    const auto count = static_cast<Index>(S.size());
    SmallMatrix H(count, count);
    SmallMatrix F_S(count, tall_.kept());
    tall_.propose(S, H.numbers.data());
    tall_.factor_rows(S, F_S.numbers.data());
    subtract_square(H, F_S);
    for (Index i = 0; i < count; ++i) H(i, i) = left_at(S, i);
    SmallMatrix eliminated(count, count);
    const std::vector<Index> kept = reject(H, missing, eliminated);
    SmallMatrix F_T(std::ssize(kept), F_S.cols);
    for (Index c = 0; c < F_S.cols; ++c) {
      for (Index i = 0; i < F_T.rows; ++i) F_T(i, c) = F_S(kept[static_cast<std::size_t>(i)], c);
    }
    const SmallMatrix M = inverse_transpose(eliminated, kept);
    tall_.accept(kept, F_T.numbers.data(), M.numbers.data(), squares_.data());
    for (std::size_t i = 0; i < left_.size(); ++i) left_[i] = std::max(left_[i] - squares_[i], 0.0);
    for (const Index k : kept) {
      left_at(S, k) = 0;
      landmarks_.push_back(S[static_cast<std::size_t>(k)]);
    }
    ++rounds_;
  }

  TallCholesky<Queue> tall_;
  std::vector<Index> landmarks_;
  std::vector<double> left_;  ///< the residual diagonal
  std::vector<double> squares_;
  std::mt19937_64 random_{1};
  Index rounds_ = 0;
};

/// Random points in [-1, 1]^d and a Gaussian kernel of bandwidth 1.
struct RandomPoints {
  static constexpr int kDimension = 8;
  Index count;
  std::vector<double> points;

  explicit RandomPoints(Index n) : count(n), points(test_numbers<double>(n * kDimension, 71)) {}
  HostKernel host_kernel() const {
    return {count, kDimension, points.data(), {KernelKind::kGaussian, -0.5, 0, 0}};
  }
  double entry(Index i, Index j) const {
    double square = 0;
    for (Index f = 0; f < kDimension; ++f) {
      const double off = points[static_cast<std::size_t>(f * count + i)] -
                         points[static_cast<std::size_t>(f * count + j)];
      square += off * off;
    }
    return std::exp(-square / 2);
  }
};

/// |K - F F^T| / |K| in the Frobenius norm, both estimated from the off-diagonal entries between
/// random points.
template <class Queue>
double sampled_error(const RandomPoints& example, const TallCholesky<Queue>& tall) {
  std::vector<Index> S;
  for (Index t = 0; t < 256; ++t) S.push_back((t * 2654435761 + 97) % example.count);
  const auto count = static_cast<Index>(S.size());
  SmallMatrix F_S(count, tall.kept());
  tall.factor_rows(S, F_S.numbers.data());
  SmallMatrix H(count, count);
  double whole = 0;
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < count; ++i) {
      H(i, j) = example.entry(S[static_cast<std::size_t>(i)], S[static_cast<std::size_t>(j)]);
      if (i != j) whole += H(i, j) * H(i, j);
    }
  }
  subtract_square(H, F_S);
  double left = 0;
  for (Index j = 0; j < count; ++j) {
    for (Index i = 0; i < count; ++i) left += i == j ? 0 : H(i, j) * H(i, j);
  }
  return std::sqrt(left / whole);
}

}  // namespace matapprox::cuda
