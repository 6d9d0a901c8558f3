#include "matapprox/factors/permutation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/factors/factor_product.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;

TEST(Permutation, MovesRows) {
  const Permutation P({2, 0, 1});
  const Matrix X = (Matrix(3, 2) << 1, 10, 2, 20, 3, 30).finished();
  EXPECT_EQ(P.apply(X), (Matrix(3, 2) << 3, 30, 1, 10, 2, 20).finished());
  EXPECT_EQ(P.apply_transpose(X), (Matrix(3, 2) << 2, 20, 3, 30, 1, 10).finished());
  EXPECT_EQ(P.apply_transpose(P.apply(X)), X);
}

TEST(Permutation, RefusesWhatIsNone) {
  EXPECT_REFUSED(InvalidArgument, Permutation({}), "empty");
  EXPECT_REFUSED(InvalidArgument, Permutation({0, 2}), "index 2 is outside 0..1");
  EXPECT_REFUSED(InvalidArgument, Permutation({0, -1}), "index -1 is outside 0..1");
  EXPECT_REFUSED(InvalidArgument, Permutation({1, 1}), "index 1 occurs twice");
  EXPECT_REFUSED(InvalidArgument, Permutation({1, 0}).apply(Matrix(3, 1)), "3 rows");
}

TEST(Permutation, CountsItsIndicesAndNoMultiplications) {
  const Factor P = make_factor("P", Permutation({2, 0, 1}));
  const FactorProduct mirrored(
      {{"P", P.value, true}, make_factor("A", test::random_matrix(3, 3, 1)), P});
  EXPECT_EQ(mirrored.storage().numbers, 9 + 3);
  EXPECT_EQ(mirrored.storage().bytes, 8 * 9 + 4 * 3);
  EXPECT_EQ(mirrored.cost().multiplications_per_apply, 9);
  const FactorProduct floats(
      {P, make_factor("A", Matrix(Matrix::Ones(3, 3)))}, false, Precision::kFloat);
  EXPECT_EQ(floats.storage().bytes, 4 * 9 + 4 * 3);
}

TEST(Permutation, StaysWhatItIsInFloats) {
  const std::vector<Factor> rounded =
      round_factors({make_factor("P", Permutation({2, 0, 1}))}, Precision::kFloat);
  EXPECT_EQ(std::get<Permutation>(*rounded.front().value).sources(), (std::vector<Index>{2, 0, 1}));
}

}  // namespace
}  // namespace matapprox
