#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/factors/approximation.hpp"
#include "methods/chord/start.hpp"
#include "support/sanitizers.hpp"

namespace matapprox {
namespace {

TEST(CirculantStart, LinksOfATurnAddUpToTheOrder) {
  for (const Index n : {2, 3, 37, 1000, 4096, 20000, 65536}) {
    const ChordPattern pattern = chord_reference_pattern(n);
    Index turns = 0;
    for (Index terms = 1; terms <= pattern.factors(); ++terms) {
      const auto turn = chord_fit::full_turn(pattern, terms);
      if (!turn) continue;
      ++turns;
      Index sum = 0;
      for (std::size_t m = 0; m < turn->size(); ++m)
        sum += pattern.offsets[m][static_cast<std::size_t>((*turn)[m])];
      EXPECT_EQ(sum, n) << terms;
    }
    EXPECT_GT(turns + (n < 4 ? 1 : 0), 0) << n;
  }
}

/// A Gaussian band, equal in every row: both sides of the diagonal must be found.
TEST(CirculantStart, FindsBothSidesOfABand) {
  constexpr Index kOrder = test::kSanitized ? 1000 : 3000;
  Vector diagonals(kOrder);
  for (Index d = 0; d < kOrder; ++d) {
    const auto distance = static_cast<double>(std::min(d, kOrder - d));
    diagonals(d) = std::exp(-distance * distance / 18);
  }
  diagonals /= diagonals.norm();
  const ChordPattern pattern = chord_reference_pattern(kOrder);
  const auto start = chord_fit::circulant_start(pattern, diagonals, 1, 0, RunControl());
  ASSERT_TRUE(start);
  const ChordFactors W{pattern, {start->begin(), start->end()}};
  // One column determines the whole product: row c - d is t_d.
  Vector column = Vector::Zero(kOrder);
  column(0) = 1;
  const Matrix product = FactorProduct({make_factor("W", W)}).apply(column);
  double squares = 0;
  for (Index d = 0; d < kOrder; ++d)
    squares += std::pow(product((kOrder - d) % kOrder, 0) - diagonals(d), 2);
  // One side alone leaves an error of 0.64.
  EXPECT_LT(std::sqrt(squares), 0.1);
}

}  // namespace
}  // namespace matapprox
