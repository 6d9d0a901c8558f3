#include <gtest/gtest.h>

#include "methods/chord/chain.hpp"
#include "methods/chord/start.hpp"
#include "support/dense_formulas.hpp"

namespace matapprox {
namespace {

using test::chord_matrix;

Vector norms(const ChordFactors& chain) {
  Vector result(chain.pattern.factors());
  for (Index m = 0; m < result.size(); ++m) {
    result(m) = Eigen::Map<const Vector>(chain.values.data() + chain.pattern.first_value(m),
                                         chain.pattern.order * chain.pattern.links(m))
                    .norm();
  }
  return result;
}

TEST(ChordBalance, NormsBecomeEqualAndTheProductIsScaled) {
  ChordFactors chain = test::random_chain({6, {{0, 1}, {0, 2, 5}, {0}}});
  for (Index i = 0; i < 12; ++i) chain.values[static_cast<std::size_t>(i)] *= 1e6;
  const Matrix before = chord_matrix(chain);
  chord_fit::balance(chain.pattern, 2.5, chain.values.data());
  const Vector after = norms(chain);
  EXPECT_LE(after.maxCoeff() - after.minCoeff(), 1e-13 * after.maxCoeff());
  EXPECT_LE((chord_matrix(chain) - 2.5 * before).norm(), 1e-14 * before.norm());
}

TEST(ChordBalance, ExtremeScalesKeepTheProductToRounding) {
  for (const double scale : {1e-280, 1e280}) {
    ChordFactors chain = test::random_chain(chord_reference_pattern(5));
    const Matrix before = chord_matrix(chain);
    chord_fit::balance(chain.pattern, scale, chain.values.data());
    EXPECT_LE((chord_matrix(chain) / scale - before).norm(), 1e-14 * before.norm()) << scale;
    const Vector after = norms(chain);
    EXPECT_LE(after.maxCoeff() - after.minCoeff(), 1e-12 * after.maxCoeff()) << scale;
  }
}

TEST(ChordBalance, AChainWithAZeroFactorIsLeftAsItIs) {
  ChordFactors chain = test::random_chain(chord_reference_pattern(5));
  std::fill_n(chain.values.begin(), 15, 0.0);
  const auto before = chain.values;
  chord_fit::balance(chain.pattern, 3.0, chain.values.data());
  EXPECT_EQ(chain.values, before);
}

}  // namespace
}  // namespace matapprox
