#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "matapprox/factors/chord_factors.hpp"
#include "support/dense_formulas.hpp"
#include "support/expect_close.hpp"
#include "support/random_block.hpp"
#include "support/sanitizers.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// Three factors with 3, 70 and 2 links (fewer if the order is too small).
ChordPattern many_links(Index n) {
  ChordPattern pattern{n, {{0, n / 2}, {}, {n - 1, 0}}};
  if (n >= 3) pattern.offsets[0].push_back(n - 1);
  for (Index k = 0; k < std::min<Index>(n, 70); ++k) pattern.offsets[1].push_back(n - 1 - k);
  pattern.validate();
  return pattern;
}

template <class T>
std::vector<T> some_values(const ChordPattern& pattern) {
  std::mt19937_64 generator(11);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  std::vector<T> values(static_cast<std::size_t>(pattern.stored_numbers()));
  for (T& v : values) v = static_cast<T>(uniform(generator));
  return values;
}

ChordFactors absolute(ChordFactors chain) {
  for (double& v : chain.values) v = std::abs(v);
  return chain;
}

/// The rounding error of a chain of sums is, entry by entry, at most (sum of links) eps times the
/// same chain of absolute values.
template <class T>
double error_bound(const ChordFactors& chain, bool transposed, const Matrix& X) {
  double links = 0;
  for (const auto& offsets : chain.pattern.offsets) links += static_cast<double>(offsets.size());
  return links * std::numeric_limits<T>::epsilon() *
         test::chord_times(absolute(chain), transposed, X.cwiseAbs()).norm();
}

template <class T>
void expect_products_close(const ChordPattern& pattern, Index columns) {
  const std::vector<T> values = some_values<T>(pattern);
  const ChordFactors chain{pattern, std::vector<double>(values.begin(), values.end())};
  const MatrixOf<T> X = MatrixOf<T>::Random(pattern.order, columns);
  const Matrix X_double = X.template cast<double>();
  MatrixOf<T> Y = MatrixOf<T>::Constant(pattern.order, columns, T{9});
  chord_product(pattern, values, X, Y);
  EXPECT_TRUE(test::within(Y.template cast<double>(),
                           test::chord_times(chain, false, X_double),
                           error_bound<T>(chain, false, X_double)));
  chord_transpose_product(pattern, values, X, Y);
  EXPECT_TRUE(test::within(Y.template cast<double>(),
                           test::chord_times(chain, true, X_double),
                           error_bound<T>(chain, true, X_double)));
}

class ChordProductOrder : public ::testing::TestWithParam<int> {};

TEST_P(ChordProductOrder, AgreesWithTheFormulaInBothPrecisions) {
  const Index n = GetParam();
  for (const ChordPattern& pattern : {chord_reference_pattern(n), many_links(n)}) {
    for (const Index columns : {1, 2, 3, 8, 17, 64}) {
      if (test::kSanitized && n * columns > 17000) continue;
      SCOPED_TRACE(columns);
      expect_products_close<double>(pattern, columns);
      expect_products_close<float>(pattern, columns);
    }
  }
  if (test::kSanitized && n > 256) return;
  SCOPED_TRACE(512);
  expect_products_close<double>(chord_reference_pattern(n), 512);
  expect_products_close<float>(chord_reference_pattern(n), 512);
}

INSTANTIATE_TEST_SUITE_P(Orders, ChordProductOrder, ::testing::Values(2, 3, 37, 100, 256, 1000));

TEST(ChordProduct, BitsOfFloatsDependNeitherOnThreadsNorOnColumnsBeside) {
  const Index n = 4099;  // large enough for threads to share one panel
  const ChordPattern pattern = chord_reference_pattern(n);
  const std::vector<float> values = some_values<float>(pattern);
  const MatrixOf<float> X = test::random_block<MatrixOf<float>>(n, 70, 1);
  MatrixOf<float> Y(n, 70);
  MatrixOf<float> Yt(n, 70);
  const test::ThreadCount one(1);
  chord_product(pattern, values, X, Y);
  chord_transpose_product(pattern, values, X, Yt);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount more(count);
    for (const Index b : {1, 2, 3, 17, 70}) {
      MatrixOf<float> Z(n, b);
      chord_product(pattern, values, X.rightCols(b), Z);
      EXPECT_EQ(Z, Y.rightCols(b)) << count << " threads, columns " << b;
      chord_transpose_product(pattern, values, X.rightCols(b), Z);
      EXPECT_EQ(Z, Yt.rightCols(b)) << count << " threads, columns " << b;
    }
  }
}

TEST(ChordProduct, RefusesWhatDoesNotFit) {
  const ChordPattern pattern = chord_reference_pattern(8);
  const std::vector<float> values = some_values<float>(pattern);
  const MatrixOf<float> X = MatrixOf<float>::Zero(8, 2);
  MatrixOf<float> Y(8, 2);
  EXPECT_REFUSED(InvalidArgument,
                 chord_product(pattern, std::span(values).first(5), X, Y),
                 "5 values, the pattern stores 96");
  EXPECT_REFUSED(InvalidArgument,
                 chord_product(pattern, values, X.topRows(7), Y),
                 "a chain of order 8 times 7 x 2 does not give 8 x 2");
  EXPECT_REFUSED(InvalidArgument,
                 chord_transpose_product(pattern, values, X.leftCols(1), Y),
                 "a chain of order 8 times 8 x 1 does not give 8 x 2");
  ChordPattern outside = pattern;
  outside.offsets[0][1] = 8;
  EXPECT_REFUSED(InvalidArgument,
                 chord_transpose_product(outside, values, X, Y),
                 "factor 1 has an offset outside 0..7");
}

}  // namespace
}  // namespace matapprox
