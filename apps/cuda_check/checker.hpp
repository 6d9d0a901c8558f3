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

/// printf into a string.
template <class... Arguments>
std::string text(const char* format, Arguments... arguments) {
  std::string made(static_cast<std::size_t>(std::snprintf(nullptr, 0, format, arguments...)), ' ');
  std::snprintf(made.data(), made.size() + 1, format, arguments...);
  return made;
}

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

/// Largest absolute difference of two vectors of equal size; NaN if one is NaN.
template <class T, class U>
double largest_difference(const std::vector<T>& got, const std::vector<U>& wanted) {
  double difference = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
    if (std::isnan(off)) return off;
    difference = std::max(difference, off);
  }
  return difference;
}

/// Largest absolute difference divided by the largest absolute reference value.
template <class T, class U>
double relative_error(const std::vector<T>& got, const std::vector<U>& wanted) {
  return largest_difference(got, wanted) / largest(wanted);
}

/// A row-major matrix on the host.
using Dense = std::vector<double>;

/// A B, or A^T B, where B is k x n and the product m x n.
inline Dense dense_product(
    const Dense& A, const Dense& B, Index m, Index k, Index n, bool transposed = false) {
  Dense C(m * n);
  for (Index i = 0; i < m; ++i) {
    for (Index l = 0; l < k; ++l) {
      const double a = A[transposed ? l * m + i : i * k + l];
      if (a == 0) continue;
      for (Index j = 0; j < n; ++j) C[i * n + j] += a * B[l * n + j];
    }
  }
  return C;
}

inline Dense dense_transpose(const Dense& A, Index rows, Index columns) {
  Dense B(A.size());
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) B[j * rows + i] = A[i * columns + j];
  }
  return B;
}

/// Relative tolerance for the rounding errors of a sum of a few hundred products.
template <class T>
constexpr double kRounding = sizeof(T) == 8 ? 1e-12 : 1e-5;

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
    return array(std::vector<T>(size));
  }
  template <class T>
  std::vector<T> numbers(const T* array, Index count) const {
    std::vector<T> values(count);
    queue_.download(array, count, values.data());
    return values;
  }
  template <class Array>
  auto numbers(const Array& array) const {
    return numbers(array.data(), array.size());
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
                   text("%s: %zu numbers, not %zu", what.c_str(), got.size(), wanted.size()));
      return;
    }
    const double scale = std::max(largest(wanted), least);
    const double difference = largest_difference(got, wanted);
    const bool good = difference <= tolerance * scale;
    results_.add(good, what + ": off by " + std::to_string(difference / scale));
  }
  /// Expects the numbers of an array to differ from a formula by the rounding errors of their type.
  template <class Array>
  void expect_rounded(const Array& got,
                      const std::vector<double>& wanted,
                      const std::string& what) {
    const auto found = numbers(got);
    expect_close(found, wanted, kRounding<std::decay_t<decltype(found[0])>>, what);
  }
  void expect_close(double got, double wanted, double tolerance, const std::string& what) {
    expect_close(std::vector<double>{got}, std::vector<double>{wanted}, tolerance, what);
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

/// Pseudorandom numbers in -1..1, the same on every machine.
template <class T>
std::vector<T> test_numbers(Index count, std::uint64_t seed) {
  std::vector<T> values(count);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15U + 1;
  for (T& value : values) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    value = static_cast<T>(static_cast<double>(state >> 11U) / 4503599627370496.0 - 1);
  }
  return values;
}

}  // namespace matapprox::cuda
