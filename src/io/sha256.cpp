#include "matapprox/io/sha256.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace matapprox {

namespace {

using Sha256State = std::array<std::uint32_t, 8>;

bool is_small_prime(std::uint32_t n) {
  for (std::uint32_t d = 2; d * d <= n; ++d) {
    if (n % d == 0) return false;
  }
  return true;
}

/// First 32 bits of the fraction. The constants of the standard are these bits of the square and
/// cube roots of the first primes; a double has enough bits.
std::uint32_t fraction_bits(double x) {
  return static_cast<std::uint32_t>(std::ldexp(x - std::floor(x), 32));
}

template <std::size_t kCount>
std::array<std::uint32_t, kCount> prime_roots(double (*root)(double)) {
  std::array<std::uint32_t, kCount> values{};
  std::uint32_t prime = 1;
  for (auto& value : values) {
    do {
      ++prime;
    } while (!is_small_prime(prime));
    value = fraction_bits(root(prime));
  }
  return values;
}

void absorb_sha256_block(Sha256State& state,
                         const unsigned char* block,
                         const std::array<std::uint32_t, 64>& k) {
  std::array<std::uint32_t, 64> w{};
  for (std::size_t t = 0; t < 16; ++t) {
    for (std::size_t byte = 0; byte < 4; ++byte) w[t] = w[t] << 8 | block[4 * t + byte];
  }
  for (std::size_t t = 16; t < 64; ++t) {
    const auto s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const auto s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const auto s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const auto t1 = h + s1 + ((e & f) ^ (~e & g)) + k[t] + w[t];
    const auto s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const auto t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const Sha256State sum{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += sum[i];
}

}  // namespace

std::string sha256(const std::string& bytes) {
  const auto k = prime_roots<64>([](double x) { return std::cbrt(x); });
  Sha256State state = prime_roots<8>([](double x) { return std::sqrt(x); });
  std::string padded = bytes;
  padded.push_back('\x80');
  while (padded.size() % 64 != 56) padded.push_back('\0');
  const std::uint64_t bits = 8 * static_cast<std::uint64_t>(bytes.size());
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<char>(bits >> shift));
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    absorb_sha256_block(state, reinterpret_cast<const unsigned char*>(padded.data()) + at, k);
  }
  std::string text;
  for (const auto word : state) text += fmt::format("{:08x}", word);
  return text;
}

}  // namespace matapprox
