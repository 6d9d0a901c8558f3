#include "support/expect_close.hpp"

#include <bit>
#include <cstdint>
#include <sstream>

namespace matapprox::test {

namespace {

::testing::AssertionResult compare(const Matrix& actual,
                                   const Matrix& expected,
                                   double bound,
                                   const std::string& limit) {
  if (actual.rows() != expected.rows() || actual.cols() != expected.cols()) {
    return ::testing::AssertionFailure()
           << "shape " << actual.rows() << " x " << actual.cols() << " instead of "
           << expected.rows() << " x " << expected.cols();
  }
  if (actual.size() == 0) return ::testing::AssertionSuccess();
  const Matrix difference = actual - expected;
  const double error = difference.stableNorm();
  if (error <= bound) return ::testing::AssertionSuccess();
  Index row = 0;
  Index col = 0;
  difference.cwiseAbs().maxCoeff<Eigen::PropagateNaN>(&row, &col);
  return ::testing::AssertionFailure()
         << "differs by " << error << " in the Frobenius norm, more than " << limit << "; most at ("
         << row << ", " << col << "): " << actual(row, col) << " instead of " << expected(row, col);
}

}  // namespace

::testing::AssertionResult close(const Matrix& actual, const Matrix& expected, double tolerance) {
  const double norm = expected.stableNorm();
  const double bound = norm > 0 ? tolerance * norm : tolerance;
  std::ostringstream limit;
  limit << tolerance << " times " << norm;
  return compare(actual, expected, bound, limit.str());
}

::testing::AssertionResult within(const Matrix& actual, const Matrix& expected, double bound) {
  std::ostringstream limit;
  limit << bound;
  return compare(actual, expected, bound, limit.str());
}

::testing::AssertionResult same_bits(const Matrix& actual, const Matrix& expected) {
  if (actual.rows() != expected.rows() || actual.cols() != expected.cols()) {
    return ::testing::AssertionFailure()
           << "shape " << actual.rows() << " x " << actual.cols() << " instead of "
           << expected.rows() << " x " << expected.cols();
  }
  for (Index j = 0; j < actual.cols(); ++j) {
    for (Index i = 0; i < actual.rows(); ++i) {
      if (std::bit_cast<std::uint64_t>(actual(i, j)) ==
          std::bit_cast<std::uint64_t>(expected(i, j))) {
        continue;
      }
      return ::testing::AssertionFailure() << "entry (" << i << ", " << j << ") is " << actual(i, j)
                                           << " instead of " << expected(i, j);
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace matapprox::test
