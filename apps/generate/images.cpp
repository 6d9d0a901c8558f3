#include "images.hpp"

#include <algorithm>
#include <cmath>

#include "matapprox/core/random.hpp"

namespace matapprox::generate {

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
