#include "matrices.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "matapprox/core/random.hpp"

namespace matapprox::generate {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLn2 = 0.693147180559945309417;

/// Sum over k of (-1)^k x^(2k + odd) / (2k + odd)!: the cosine (odd 0) or sine (odd 1) for 0 <= x
/// <= pi/4, where the terms after the twelfth are below double precision.
double alternating_series(double x, int odd) {
  double sum = 0;
  for (int k = 12; k >= 1; --k) {
    const double n = 2 * k + odd;
    sum = (1 + sum) * (-x * x / (n * (n - 1)));
  }
  return (1 + sum) * (odd == 1 ? x : 1);
}

}  // namespace

double exp_minus(double x) {
  // x = k ln 2 + r, 0 <= r < ln 2, and exp(-r) by its series.
  const double k = std::floor(x / kLn2);
  const double r = x - k * kLn2;
  double sum = 0;
  for (int term = 24; term >= 1; --term) sum = (1 + sum) * (-r / term);
  return std::ldexp(1 + sum, -static_cast<int>(k));
}

double cos_of_turn(Index p, Index q) {
  p = (p % q + q) % q;
  if (2 * p > q) p = q - p;                  // cos(2 pi - a) = cos a
  const bool obtuse = 4 * p > q;             // cos(pi - a) = -cos a
  if (obtuse) p = q / 2 - p;                 // now a <= pi/2
  const bool steep = 8 * p > q;              // cos a = sin(pi/2 - a)
  const Index part = steep ? q / 4 - p : p;  // now a <= pi/4
  const double angle = 2 * kPi * static_cast<double>(part) / static_cast<double>(q);
  const double value = alternating_series(angle, steep ? 1 : 0);
  return obtuse ? -value : value;
}

namespace {

constexpr RandomStream kDenseStream = RandomStream::kGenerator;

double six_decimals(double x) { return std::round(x * 1e6) / 1e6; }

/// A(i, j) = entry(i, j).
template <class Entry>
Matrix from_entries(Index rows, Index cols, const Entry& entry) {
  Matrix A(rows, cols);
  for (Index j = 0; j < cols; ++j) {
    for (Index i = 0; i < rows; ++i) A(i, j) = entry(i, j);
  }
  return A;
}

/// Sum over k of X(i, k) Y(j, k) in this fixed order; Eigen's order depends on the CPU.
double row_product(const Matrix& X, Index i, const Matrix& Y, Index j) {
  double sum = 0;
  for (Index k = 0; k < X.cols(); ++k) sum += X(i, k) * Y(j, k);
  return sum;
}

/// Diagonal entry i of D in the factor model.
double own_variance(std::uint64_t seed, Index i) {
  return 0.5 + random_uniform(seed, kDenseStream, i, 0);
}

}  // namespace

Matrix hilbert(Index n) {
  return from_entries(n, n, [](Index i, Index j) { return 1.0 / static_cast<double>(i + j + 1); });
}

Matrix parter(Index n) {
  return from_entries(
      n, n, [](Index i, Index j) { return 1.0 / (static_cast<double>(i - j) + 0.5); });
}

Matrix ar1_covariance(Index n, double correlation) {
  Vector power(n);
  power(0) = 1;
  for (Index k = 1; k < n; ++k) power(k) = power(k - 1) * correlation;
  return from_entries(n, n, [&](Index i, Index j) { return power(std::abs(i - j)); });
}

Matrix factor_loadings(Index n, Index factors, std::uint64_t seed) {
  return from_entries(
      n, factors, [&](Index i, Index j) { return random_normal(seed, kDenseStream, i, j); });
}

Matrix factor_covariance(const Matrix& loadings, std::uint64_t seed) {
  const Index n = loadings.rows();
  return from_entries(n, n, [&](Index i, Index j) {
    const double common = row_product(loadings, i, loadings, j);
    return i == j ? common + own_variance(seed, i) : common;
  });
}

Matrix factor_samples(const Matrix& loadings, Index samples, std::uint64_t seed) {
  const Matrix factors = factor_loadings(samples, loadings.cols(), seed + 1);
  return from_entries(samples, loadings.rows(), [&](Index i, Index j) {
    const double own =
        std::sqrt(own_variance(seed, j)) * random_normal(seed + 2, kDenseStream, i, j);
    return six_decimals(row_product(factors, i, loadings, j) + own);
  });
}

Matrix discrete_cosine_transform(Index n) {
  const double scale = std::sqrt(2 / static_cast<double>(n));
  const double first = std::sqrt(1 / static_cast<double>(n));
  return from_entries(n, n, [&](Index k, Index i) {
    return k == 0 ? first : scale * cos_of_turn((2 * i + 1) * k, 4 * n);
  });
}

Matrix clustered_points(Index points, Index dimension, Index clusters, std::uint64_t seed) {
  return from_entries(points, dimension, [&](Index i, Index j) {
    const double center = 4 * random_normal(seed, kDenseStream, i % clusters, j);
    return six_decimals(center + random_normal(seed + 1, kDenseStream, i, j));
  });
}

Matrix gaussian_kernel(const Matrix& points, double bandwidth) {
  const Index n = points.rows();
  return from_entries(n, n, [&](Index i, Index j) {
    double square = 0;
    for (Index k = 0; k < points.cols(); ++k) {
      const double difference = points(i, k) - points(j, k);
      square += difference * difference;
    }
    return exp_minus(square / (2 * bandwidth * bandwidth));
  });
}

namespace {

using Triplets = std::vector<Eigen::Triplet<double, Index>>;
using Edges = std::set<std::pair<Index, Index>>;  // smaller node first

constexpr RandomStream kSparseStream = RandomStream::kGenerator;

SparseMatrix from_triplets(Index n, const Triplets& triplets) {
  SparseMatrix A(n, n);
  A.setFromTriplets(triplets.begin(), triplets.end());
  return A;
}

SparseMatrix adjacency(Index n, const Edges& edges) {
  Triplets triplets;
  for (const auto& [u, v] : edges) {
    triplets.emplace_back(u, v, 1.0);
    triplets.emplace_back(v, u, 1.0);
  }
  return from_triplets(n, triplets);
}

std::pair<Index, Index> edge(Index u, Index v) { return {std::min(u, v), std::max(u, v)}; }

}  // namespace

SparseMatrix mesh_laplacian(Index x, Index y, Index z) {
  const Index n = x * y * z;
  const double diagonal = z == 1 ? 4 : 6;
  Triplets triplets;
  for (Index node = 0; node < n; ++node) {
    triplets.emplace_back(node, node, diagonal);
    const auto join = [&](Index other) {
      triplets.emplace_back(node, other, -1.0);
      triplets.emplace_back(other, node, -1.0);
    };
    if (node % x + 1 < x) join(node + 1);
    if (node / x % y + 1 < y) join(node + x);
    if (node / (x * y) + 1 < z) join(node + x * y);
  }
  return from_triplets(n, triplets);
}

SparseMatrix small_world(Index n, Index degree, double rewiring, std::uint64_t seed) {
  Edges edges;
  for (Index u = 0; u < n; ++u) {
    for (Index step = 1; step <= degree / 2; ++step) edges.insert(edge(u, (u + step) % n));
  }
  for (Index u = 0; u < n; ++u) {
    for (Index step = 1; step <= degree / 2; ++step) {
      if (random_uniform(seed, kSparseStream, u, step) >= rewiring) continue;
      for (Index attempt = 0;; ++attempt) {
        const Index v = random_index(seed + 1, kSparseStream, u * degree + step, attempt, n);
        if (v == u || edges.contains(edge(u, v))) continue;
        edges.erase(edge(u, (u + step) % n));
        edges.insert(edge(u, v));
        break;
      }
    }
  }
  return adjacency(n, edges);
}

SparseMatrix scale_free(Index n, Index links, std::uint64_t seed) {
  Edges edges;
  std::vector<Index> ends;  // each node, repeated as often as its degree
  const auto join = [&](Index u, Index v) {
    edges.insert(edge(u, v));
    ends.push_back(u);
    ends.push_back(v);
  };
  for (Index u = 0; u <= links; ++u) {
    for (Index v = 0; v < u; ++v) join(u, v);
  }
  for (Index u = links + 1; u < n; ++u) {
    std::set<Index> chosen;
    for (Index attempt = 0; std::ssize(chosen) < links; ++attempt) {
      chosen.insert(ends[random_index(seed, kSparseStream, u, attempt, std::ssize(ends))]);
    }
    for (const Index v : chosen) join(u, v);
  }
  return adjacency(n, edges);
}

SparseMatrix block_model(Index n, Index blocks, double inside, double outside, std::uint64_t seed) {
  const Index size = n / blocks;
  Edges edges;
  for (Index u = 0; u < n; ++u) {
    for (Index v = 0; v < u; ++v) {
      const double probability = u / size == v / size ? inside : outside;
      if (random_uniform(seed, kSparseStream, u, v) < probability) edges.insert(edge(u, v));
    }
  }
  return adjacency(n, edges);
}

SparseMatrix permutation(Index n, std::uint64_t seed) {
  std::vector<Index> column(n);
  std::iota(column.begin(), column.end(), Index{0});
  for (Index i = n - 1; i > 0; --i) {
    std::swap(column[i], column[random_index(seed, kSparseStream, i, 0, i + 1)]);
  }
  Triplets triplets;
  for (Index i = 0; i < n; ++i) triplets.emplace_back(i, column[i], 1.0);
  return from_triplets(n, triplets);
}

namespace {

constexpr RandomStream kImageStream = RandomStream::kGenerator;

/// A point of the image: x to the right, y down, both in 0..1.
struct Point {
  double x;
  double y;
};

double fraction(double x) { return x - std::floor(x); }

/// Random values in -1..1 on a grid with `cells` cells per side, interpolated linearly.
double value_noise(std::uint64_t seed, Point p, double cells) {
  const double x = p.x * cells;
  const double y = p.y * cells;
  const auto i = static_cast<Index>(std::floor(y));
  const auto j = static_cast<Index>(std::floor(x));
  const double s = fraction(y);
  const double t = fraction(x);
  const auto at = [&](Index row, Index column) {
    return 2 * random_uniform(seed, kImageStream, row, column) - 1;
  };
  return (1 - s) * ((1 - t) * at(i, j) + t * at(i, j + 1)) +
         s * ((1 - t) * at(i + 1, j) + t * at(i + 1, j + 1));
}

double sky(std::uint64_t seed, Point p) {
  const double dx = p.x - 0.78;
  const double dy = p.y - 0.18;
  if (dx * dx + dy * dy < 0.008) return 250;  // the sun
  return 150 + 90 * p.y + 12 * value_noise(seed, p, 5) + 6 * value_noise(seed + 1, p, 11);
}

/// Height of the hills' outline at x: two slopes with a rough edge.
double outline(std::uint64_t seed, double x) {
  const double left = 0.30 + 0.9 * std::abs(x - 0.22);
  const double right = 0.38 + 0.6 * std::abs(x - 0.70);
  return std::min(left, right) + 0.02 * value_noise(seed + 2, {x, 0}, 24);
}

double hill(std::uint64_t seed, Point p) {
  const double lit = p.x < 0.22 || (p.x > 0.46 && p.x < 0.70) ? 40 : 0;
  return 70 + lit + 25 * value_noise(seed + 3, p, 18) + 14 * value_noise(seed + 4, p, 61);
}

double grass(std::uint64_t seed, Point p) {
  return 95 - 45 * (p.y - 0.62) + 30 * value_noise(seed + 5, {p.x * 2, p.y}, 70) +
         25 * value_noise(seed + 6, p, 128);
}

/// Bricks in courses, every other course shifted by half a brick, with light mortar.
double wall(std::uint64_t seed, Point p) {
  const double course = p.y / 0.025;
  const double along = p.x / 0.06 + 0.5 * fraction(std::floor(course) / 2) * 2;
  if (fraction(course) < 0.18 || fraction(along) < 0.08) return 190;
  const double tone =
      random_uniform(seed + 7, kImageStream, static_cast<Index>(course), static_cast<Index>(along));
  return 105 + 50 * tone;
}

/// Gray value of the scene at a point; objects are tested from front to back.
double shade(std::uint64_t seed, Point p) {
  const bool in_wall = p.x > 0.30 && p.x < 0.66 && p.y > 0.52 && p.y < 0.80;
  const bool in_roof = p.y > 0.36 && p.y <= 0.52 && std::abs(p.x - 0.48) < 1.4 * (p.y - 0.36);
  const bool in_chimney = p.x > 0.56 && p.x < 0.60 && p.y > 0.34 && p.y < 0.46;
  if (in_roof) return 45 + 60 * fraction(p.y / 0.02) + 20 * (p.x - 0.3);
  if (in_chimney) return 80;
  if (in_wall) {
    const bool window = fraction((p.x - 0.33) / 0.12) < 0.5 && p.y > 0.58 && p.y < 0.66;
    if (window) return 20 + 120 * (p.y - 0.58) / 0.08;
    if (std::abs(p.x - 0.48) < 0.035 && p.y > 0.69) return 35;  // the door
    return wall(seed, p);
  }
  if (p.y > 0.72 + 0.05 * value_noise(seed + 8, {p.x, 0}, 4)) return grass(seed, p);
  if (p.y > outline(seed, p.x)) return hill(seed, p);
  return sky(seed, p);
}

}  // namespace

Matrix chessboard(Index n, Index squares) {
  Matrix values(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      values(i, j) = (i * squares / n + j * squares / n) % 2 == 0 ? 224 : 32;
    }
  }
  return values;
}

Matrix scene(Index n, std::uint64_t seed) {
  constexpr Index kSamples = 4;
  const double step = 1.0 / static_cast<double>(n * kSamples);
  Matrix values(n, n);
  for (Index j = 0; j < n; ++j) {
    for (Index i = 0; i < n; ++i) {
      double sum = 0;
      for (Index sample = 0; sample < kSamples * kSamples; ++sample) {
        const Index row = i * kSamples + sample / kSamples;
        const Index column = j * kSamples + sample % kSamples;
        sum += shade(
            seed,
            {(static_cast<double>(column) + 0.5) * step, (static_cast<double>(row) + 0.5) * step});
      }
      values(i, j) = std::clamp(std::round(sum / (kSamples * kSamples)), 0.0, 255.0);
    }
  }
  return values;
}

}  // namespace matapprox::generate
