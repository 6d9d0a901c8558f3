#include <algorithm>
#include <limits>

#include "matapprox/core/random.hpp"
#include "matapprox/core/threads.hpp"
#include "matapprox/kernels/gemm.hpp"
#include "methods/nystrom/landmarks.hpp"
#include "methods/weighted_sample.hpp"

namespace matapprox {
namespace {

constexpr Index kPointsAtOnce = 2048;
constexpr Index kMaxRounds = 20;
enum KmeansDraw : Index { kStartDraw = 3, kFillDraw = 4 };

/// Calls body(first, count) for stretches of 0..n-1 that do not depend on the thread count.
void for_stretches(Index n, const std::function<void(Index, Index)>& body) {
  parallel_for((n + kPointsAtOnce - 1) / kPointsAtOnce, [&](Index s) {
    body(s * kPointsAtOnce, std::min(kPointsAtOnce, n - s * kPointsAtOnce));
  });
}

/// Draws k rows of `points` as initial centers, each with probability proportional to the squared
/// distance to the nearest center so far [AV07].
Matrix plus_plus_start(const Matrix& points, Index k, std::uint64_t seed) {
  const Index n = points.rows();
  Matrix centers(k, points.cols());
  Vector nearest = Vector::Ones(n);  // uniform for the first draw
  for (Index c = 0; c < k; ++c) {
    double target = nearest.sum() * random_uniform(seed, RandomStream::kSampling, kStartDraw, c);
    Index chosen = 0;
    while (chosen + 1 < n && target >= nearest(chosen)) target -= nearest(chosen++);
    centers.row(c) = points.row(chosen);
    for_stretches(n, [&](Index first, Index count) {
      const Vector distances =
          (points.middleRows(first, count).rowwise() - centers.row(c)).rowwise().squaredNorm();
      auto part = nearest.segment(first, count);
      part = c == 0 ? distances : Vector(part.cwiseMin(distances));
    });
  }
  return centers;
}

/// Computes |p - c|^2 - |p|^2 for a stretch of points (rows) and all centers (columns).
Matrix partial_distances(const Matrix& points, const Matrix& centers, Index first, Index count) {
  Matrix distances = centers.rowwise().squaredNorm().transpose().replicate(count, 1);
  kernels::gemm(kernels::Trans::kNo,
                points.middleRows(first, count),
                kernels::Trans::kYes,
                centers,
                distances,
                -2.0,
                1.0);
  return distances;
}

std::vector<Index> assign(const Matrix& points, const Matrix& centers) {
  std::vector<Index> owner(static_cast<std::size_t>(points.rows()));
  for_stretches(points.rows(), [&](Index first, Index count) {
    const Matrix distances = partial_distances(points, centers, first, count);
    for (Index i = 0; i < count; ++i) {
      distances.row(i).minCoeff(&owner[static_cast<std::size_t>(first + i)]);
    }
  });
  return owner;
}

/// Returns the means of the points of each center; a center without points is unchanged.
Matrix means(const Matrix& points, const std::vector<Index>& owner, const Matrix& centers) {
  Matrix sums = Matrix::Zero(centers.rows(), centers.cols());
  Vector counts = Vector::Zero(centers.rows());
  for (Index i = 0; i < points.rows(); ++i) {
    const Index c = owner[static_cast<std::size_t>(i)];
    sums.row(c) += points.row(i);
    counts(c) += 1;
  }
  for (Index c = 0; c < centers.rows(); ++c) {
    sums.row(c) = counts(c) > 0 ? (sums.row(c) / counts(c)).eval() : centers.row(c).eval();
  }
  return sums;
}

/// Returns the point nearest to its own center, for every center that has points.
std::vector<Index> nearest_points(const Matrix& points,
                                  const Matrix& centers,
                                  const std::vector<Index>& owner) {
  Vector best = Vector::Constant(centers.rows(), std::numeric_limits<double>::infinity());
  std::vector<Index> nearest(static_cast<std::size_t>(centers.rows()), -1);
  for (Index i = 0; i < points.rows(); ++i) {
    const Index c = owner[static_cast<std::size_t>(i)];
    const double distance = (points.row(i) - centers.row(c)).squaredNorm();
    if (distance < best(c)) {
      best(c) = distance;
      nearest[static_cast<std::size_t>(c)] = i;
    }
  }
  std::erase(nearest, Index{-1});
  return nearest;
}

}  // namespace

std::vector<Index> kmeans_landmarks(const Matrix& points,
                                    Index k,
                                    std::uint64_t seed,
                                    const RunControl& control) {
  Matrix centers = plus_plus_start(points, k, seed);
  std::vector<Index> owner;
  for (Index round = 0; round < kMaxRounds; ++round) {
    control.throw_if_stopped("nystrom");
    std::vector<Index> next = assign(points, centers);
    if (next == owner) break;
    owner = std::move(next);
    centers = means(points, owner, centers);
  }
  std::vector<Index> chosen = nearest_points(points, centers, owner);
  // Equal points leave centers empty; the remaining landmarks are drawn uniformly.
  std::vector<bool> taken(static_cast<std::size_t>(points.rows()), false);
  for (const Index i : chosen) taken[static_cast<std::size_t>(i)] = true;
  for (const Index i : weighted_order(Vector::Ones(points.rows()), seed, kFillDraw)) {
    if (static_cast<Index>(chosen.size()) == k) break;
    if (!taken[static_cast<std::size_t>(i)]) chosen.push_back(i);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace matapprox
