#pragma once

#include "functions.hpp"
#include "grid.hpp"

// Random words and standard normal numbers, bit-identical to the library's random_words and
// random_normal: docs/random.md gives the order of all operations.
namespace matapprox::cuda {

struct RandomWords {
  std::uint32_t values[4];
};

/// Bit-identical to the library's random_words: Philox4x32-10 of the counter that docs/random.md
/// derives from stream, i and j. [SMDS11]
MATAPPROX_HD inline RandomWords random_words_of(std::uint64_t seed,
                                                std::uint32_t stream,
                                                Index i,
                                                Index j) {
  const auto a = static_cast<std::uint64_t>(i);
  const auto b = static_cast<std::uint64_t>(j);
  auto c0 = static_cast<std::uint32_t>(b);
  auto c1 = static_cast<std::uint32_t>(a);
  auto c2 = static_cast<std::uint32_t>(((a >> 32) << 16) | (b >> 32));
  std::uint32_t c3 = stream;
  auto k0 = static_cast<std::uint32_t>(seed);
  auto k1 = static_cast<std::uint32_t>(seed >> 32);
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t second = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(second >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(second);
    c2 = static_cast<std::uint32_t>(first >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(first);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

/// Words below this limit are dropped: the smallest integer that is at least rate 2^32.
inline std::uint64_t dropout_limit(double rate) {
  constexpr double kWords = 4294967296.0;
  const auto below = static_cast<std::uint64_t>(rate * kWords);
  return below + (static_cast<double>(below) < rate * kWords ? 1 : 0);
}

/// Returns a b, rounded: nvcc would otherwise fuse a product and the following sum.
MATAPPROX_HD inline double rounded_product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Returns (a + 1/2) 2^-53 for the upper 53 bits a of both words.
MATAPPROX_HD inline double unit_interval(std::uint32_t low, std::uint32_t high) {
  const std::uint64_t bits = ((std::uint64_t{high} << 32) | low) >> 11;
  return (static_cast<double>(bits) + 0.5) * 0x1p-53;
}

/// Returns ln u, 0 < u <= 1: u = m 2^e, m in [sqrt(1/2), sqrt(2)), a series in (m - 1) / (m + 1).
MATAPPROX_HD inline double ordered_log(double u) {
  int exponent = 0;
  double m = ::frexp(u, &exponent);
  if (m < 0.7071067811865476) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double t = rounded_product(s, s);
  double sum = 1.0 / 23;
  MATAPPROX_UNROLL
  for (int k = 21; k >= 1; k -= 2) sum = rounded_product(sum, t) + 1.0 / k;
  return rounded_product(exponent, 0.6931471805599453) + rounded_product(s + s, sum);
}

/// Returns 1 / k!, k <= 18: one division of exact numbers.
MATAPPROX_HD constexpr double inverse_factorial(int k) {
  double factorial = 1;
  for (int i = 2; i <= k; ++i) factorial *= i;
  return 1 / factorial;
}

struct NormalPair {
  double even;
  double odd;
};

/// Returns the numbers in row i of columns 2 half and 2 half + 1.
MATAPPROX_HD inline NormalPair normal_pair(std::uint64_t seed,
                                           std::uint32_t stream,
                                           Index i,
                                           Index half) {
  const RandomWords words = random_words_of(seed, stream, i, half);
  const double u = unit_interval(words.values[0], words.values[1]);
  const double v = unit_interval(words.values[2], words.values[3]);
  const double radius = sqrt_of(-2 * ordered_log(u));
  // sin(2 pi v) and cos(2 pi v): the argument is reduced by quarter turns, the rest is a series.
  const auto quarter = static_cast<int>(4 * v + 0.5);  // NOLINT(bugprone-incorrect-roundings)
  const double x = rounded_product(v - quarter * 0.25, 2.0 * 3.141592653589793);
  const double t = -rounded_product(x, x);
  double sine = inverse_factorial(17);
  MATAPPROX_UNROLL
  for (int k = 15; k >= 1; k -= 2) sine = rounded_product(sine, t) + inverse_factorial(k);
  sine = rounded_product(sine, x);
  double cosine = inverse_factorial(18);
  MATAPPROX_UNROLL
  for (int k = 16; k >= 0; k -= 2) cosine = rounded_product(cosine, t) + inverse_factorial(k);
  const bool is_odd = (quarter & 1) != 0;
  const double sine_sign = (quarter & 2) != 0 ? -1 : 1;
  const double cosine_sign = ((quarter + 1) & 2) != 0 ? -1 : 1;
  return {rounded_product(radius, (is_odd ? sine : cosine) * cosine_sign),
          rounded_product(radius, (is_odd ? cosine : sine) * sine_sign)};
}

/// Computes X(i, j) = the normal number in row i and column first_column + j, column-major. A
/// thread computes both numbers that come from the same words.
struct NormalNumbers {
  static constexpr int kThreads = 256;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  Index first_column = 0;
  double* numbers = nullptr;
  Index rows = 0;
  Index columns = 0;

  MATAPPROX_HD Index first_pair() const { return first_column / 2; }
  Index blocks() const {
    const Index pairs = (first_column + columns - 1) / 2 - first_pair() + 1;
    return ceil_div(rows * pairs, kThreads);
  }
  MATAPPROX_HD void operator()(GridPosition place) const {
    const Index t = place.block * kThreads + place.thread;
    const Index pair = first_pair() + t / rows;
    const Index row = t % rows;
    const Index even = 2 * pair - first_column;
    if (even >= columns) return;
    const NormalPair pair_of_numbers = normal_pair(seed, stream, row, pair);
    if (even >= 0) numbers[even * rows + row] = pair_of_numbers.even;
    if (even + 1 < columns) numbers[(even + 1) * rows + row] = pair_of_numbers.odd;
  }
};

}  // namespace matapprox::cuda
