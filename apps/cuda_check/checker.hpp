#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "device/cuda/kernels/grid.hpp"

namespace matapprox::cuda {

/// Counts comparisons and prints those that fail.
class Results {
 public:
  explicit Results(std::string where) : where_(std::move(where)) {}
  void add(bool good, const std::string& what) {
    ++done_;
    if (good) return;
    ++failed_;
    std::printf("FAILED on the %s: %s\n", where_.c_str(), what.c_str());
  }
  int done() const { return done_; }
  int failed() const { return failed_; }

 private:
  std::string where_;
  int done_ = 0;
  int failed_ = 0;
};

/// The largest absolute value.
template <class T>
double largest(const std::vector<T>& values) {
  double most = 0;
  for (const T value : values) most = std::max(most, std::abs(static_cast<double>(value)));
  return most;
}

/// A queue with functions that compare its results with formulas on plain vectors. Every check is a
/// function template over the queue, so the same code runs on the host and on a GPU.
template <class Queue>
class Checker {
 public:
  Checker(const Queue& queue, Results& results) : queue_(queue), results_(results) {}

  const Queue& queue() const { return queue_; }

  template <class T>
  auto array(const std::vector<T>& values) const {
    auto array = queue_.template array<T>(static_cast<Index>(values.size()));
    queue_.upload(values.data(), array.size(), array.data());
    return array;
  }
  template <class T>
  auto zeros(Index size) const {
    return array(std::vector<T>(static_cast<std::size_t>(size)));
  }
  template <class T>
  std::vector<T> numbers(const T* array, Index count) const {
    std::vector<T> values(static_cast<std::size_t>(count));
    queue_.download(array, count, values.data());
    return values;
  }

  /// Expects the largest difference to be at most `tolerance` times the largest reference value, or
  /// times `least` if that is larger. `least` is the size of the terms of sums that cancel in exact
  /// arithmetic.
  template <class T, class U>
  void expect_close(const std::vector<T>& got,
                    const std::vector<U>& wanted,
                    double tolerance,
                    const std::string& what,
                    double least = 0) {
    if (got.size() != wanted.size()) {
      results_.add(false,
                   what + ": " + std::to_string(got.size()) + " numbers, not " +
                       std::to_string(wanted.size()));
      return;
    }
    const double scale = std::max(largest(wanted), least);
    double difference = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto g = static_cast<double>(got[i]);
      const auto w = static_cast<double>(wanted[i]);
      // max() would lose a NaN.
      if (!(std::abs(g - w) <= difference)) difference = std::abs(g - w);
    }
    const bool good = difference <= tolerance * scale;
    results_.add(good, what + ": off by " + std::to_string(difference / scale));
  }
  template <class T>
  void expect_equal(const std::vector<T>& got,
                    const std::vector<T>& wanted,
                    const std::string& what) {
    results_.add(got == wanted, what + ": not the same numbers");
  }
  void expect(bool good, const std::string& what) { results_.add(good, what); }

 private:
  const Queue& queue_;
  Results& results_;
};

/// Relative tolerance for the rounding errors of a sum of a few hundred products.
template <class T>
constexpr double kRounding = sizeof(T) == 8 ? 1e-12 : 1e-5;

/// Pseudorandom numbers in -1..1, the same on every machine.
template <class T>
std::vector<T> test_numbers(Index count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (T& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<T>(static_cast<double>(state >> 11U) / 4503599627370496.0 - 1);
  }
  return values;
}

}  // namespace matapprox::cuda
