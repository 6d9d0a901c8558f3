#include "matapprox/core/random.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <cmath>

#include "matapprox/core/threads.hpp"

// This file is compiled with -ffp-contract=off: the results below are part of the file format.

namespace matapprox {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr double kLn2 = 0.6931471805599453;
constexpr double kSqrtHalf = 0.7071067811865476;

double unit_interval(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = ((std::uint64_t{high} << 32) | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

/// 1/k! for k = 0..18: the factorials are exact in double, so these are correctly rounded.
constexpr std::array<double, 19> kInverseFactorial = [] {
  std::array<double, 19> table{};
  double factorial = 1.0;
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (k > 0) factorial *= static_cast<double>(k);
    table[k] = 1.0 / factorial;
  }
  return table;
}();

/// ln u for u in (0, 1): u = m 2^e with m in [sqrt(1/2), sqrt(2)), s = (m - 1)/(m + 1), t = s s,
/// ln u = e ln 2 + 2 s (1 + t/3 + ... + t^11/23) by Horner. |s| < 0.1716: truncation below 1e-18.
double ordered_log(double u) {
  int e = 0;
  double m = std::frexp(u, &e);  // exact
  if (m < kSqrtHalf) {
    m = m * 2.0;
    e = e - 1;
  }
  const double s = (m - 1.0) / (m + 1.0);
  const double t = s * s;
  double sum = 1.0 / 23.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * t + 1.0 / static_cast<double>(k);
  return static_cast<double>(e) * kLn2 + (s + s) * sum;
}

struct SineCosine {
  double sine;
  double cosine;
};

/// sin(2 pi v), cos(2 pi v) for v in (0, 1): q = floor(4 v + 1/2) quarter turns are taken off
/// exactly, x = (v - q/4) 2 pi is within +-pi/4, t = -x x; Taylor to x^17 and x^18 by Horner in t.
SineCosine ordered_sine_cosine(double v) {
  const auto quarter = static_cast<int>(4.0 * v + 0.5);
  const double x = (v - static_cast<double>(quarter) * 0.25) * (2.0 * kPi);
  const double t = -(x * x);
  double sine = kInverseFactorial[17];
  for (int k = 15; k >= 1; k -= 2) sine = sine * t + kInverseFactorial[static_cast<std::size_t>(k)];
  sine = sine * x;
  double cosine = kInverseFactorial[18];
  for (int k = 16; k >= 0; k -= 2)
    cosine = cosine * t + kInverseFactorial[static_cast<std::size_t>(k)];
  switch (quarter % 4) {
    case 0:
      return {sine, cosine};
    case 1:
      return {cosine, -sine};
    case 2:
      return {-sine, -cosine};
    default:
      return {-cosine, sine};
  }
}

struct NormalPair {
  double even;
  double odd;
};

NormalPair normal_pair(std::uint64_t seed, RandomStream stream, Index i, Index half_j) {
  const auto w = random_words(seed, stream, i, half_j);
  const double radius = std::sqrt(-2.0 * ordered_log(unit_interval(w[0], w[1])));
  const SineCosine angle = ordered_sine_cosine(unit_interval(w[2], w[3]));
  return {radius * angle.cosine, radius * angle.sine};
}

}  // namespace

std::array<std::uint32_t, 4> random_words(std::uint64_t seed,
                                          RandomStream stream,
                                          Index i,
                                          Index j) {
  const auto a = static_cast<std::uint64_t>(i);
  const auto b = static_cast<std::uint64_t>(j);
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<std::uint32_t>(b),
       static_cast<std::uint32_t>(a),
       static_cast<std::uint32_t>(((a >> 32) << 16) | (b >> 32)),
       static_cast<std::uint32_t>(stream)}};
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const auto words = r123::Philox4x32()(counter, key);
  return {words[0], words[1], words[2], words[3]};
}

double random_uniform(std::uint64_t seed, RandomStream stream, Index i, Index j) {
  const auto w = random_words(seed, stream, i, j);
  return unit_interval(w[0], w[1]);
}

Index random_index(std::uint64_t seed, RandomStream stream, Index i, Index j, Index bound) {
  const auto index =
      static_cast<Index>(random_uniform(seed, stream, i, j) * static_cast<double>(bound));
  return std::min(index, bound - 1);
}

double random_normal(std::uint64_t seed, RandomStream stream, Index i, Index j) {
  const NormalPair pair = normal_pair(seed, stream, i, j / 2);
  return j % 2 == 0 ? pair.even : pair.odd;
}

void fill_normal(
    std::uint64_t seed, RandomStream stream, Block X, Index row_offset, Index column_offset) {
  constexpr Index kRows = 1024;
  const Index chunks = (X.rows() + kRows - 1) / kRows;
  parallel_for(chunks, [&](Index chunk) {
    const Index last = std::min(X.rows(), (chunk + 1) * kRows);
    for (Index i = chunk * kRows; i < last; ++i) {
      for (Index c = 0; c < X.cols();) {
        const Index j = column_offset + c;
        const NormalPair pair = normal_pair(seed, stream, row_offset + i, j / 2);
        if (j % 2 == 0) X(i, c++) = pair.even;
        if (c < X.cols()) X(i, c++) = pair.odd;
      }
    }
  });
}

Matrix random_normal_matrix(std::uint64_t seed, RandomStream stream, Index rows, Index cols) {
  Matrix X(rows, cols);
  fill_normal(seed, stream, X);
  return X;
}

}  // namespace matapprox
