#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>

#include "matapprox/core/error.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox::test {

inline constexpr double kEps = std::numeric_limits<double>::epsilon();

/// Bound on the relative error of a value after this many consecutive operations, each rounded to
/// the nearest double: gamma_k = k u / (1 - k u) with u = eps / 2. A sum of k terms has at most
/// this error relative to the sum of their absolute values, in every order of addition, and so on
/// every instruction set (Higham, Accuracy and Stability of Numerical Algorithms, Section 3.1).
constexpr double rounding(Index operations) {
  const double ku = static_cast<double>(operations) * kEps / 2;
  return ku / (1 - ku);
}

/// |actual - expected|_F <= tolerance * |expected|_F; for expected = 0, |actual|_F <= tolerance.
/// Differing shapes and NaN are failures.
::testing::AssertionResult close(const Matrix& actual, const Matrix& expected, double tolerance);

/// |actual - expected|_F <= bound.
::testing::AssertionResult within(const Matrix& actual, const Matrix& expected, double bound);

/// Every entry has the same bits.
::testing::AssertionResult same_bits(const Matrix& actual, const Matrix& expected);

/// True if `call` throws `Exception` with a message that contains `part`.
template <class Exception>
::testing::AssertionResult throws(const std::function<void()>& call, const std::string& part) {
  try {
    call();
  } catch (const Exception& error) {
    if (std::string(error.what()).find(part) != std::string::npos) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << "the message \"" << error.what() << "\" does not contain \"" << part << "\"";
  } catch (const std::exception& error) {
    return ::testing::AssertionFailure() << "threw another type: \"" << error.what() << "\"";
  }
  return ::testing::AssertionFailure() << "threw nothing";
}

/// Returns the message of the Error that `call` throws, or "no error".
template <class Callable>
std::string complaint_of(const Callable& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace matapprox::test

#define EXPECT_CLOSE(actual, expected, tolerance) \
  EXPECT_TRUE(::matapprox::test::close(actual, expected, tolerance))
#define EXPECT_SAME_BITS(actual, expected) \
  EXPECT_TRUE(::matapprox::test::same_bits(actual, expected))
/// EXPECT_REFUSED(InvalidArgument, nystrom(A, {.rank = 0}), "rank 0 is outside")
#define EXPECT_REFUSED(Exception, call, part) \
  EXPECT_TRUE(::matapprox::test::throws<Exception>([&] { static_cast<void>(call); }, part))
