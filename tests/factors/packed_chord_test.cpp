#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/factors/packed.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

ChordFactors random_chain(const ChordPattern& pattern) {
  const Matrix values = test::random_matrix(pattern.stored_numbers(), 1, 4);
  return {pattern, {values.data(), values.data() + values.size()}};
}

TEST(PackedChord, MultipliesByWhatItUnpacksTo) {
  for (const Index n : {1, 2, 7, 64, 1024, 2500}) {
    const PackedChord packed = PackedChord::rounded(random_chain(chord_alternating_pattern(n)), 5);
    const ChordFactors chain = packed.unpacked();
    const Matrix X = test::random_matrix(n, 3, 5);
    Matrix Y(n, 3);
    chord_product(chain.pattern, chain.values, X, Y);
    EXPECT_CLOSE(packed.apply(X), Y, 1e-13);
    chord_transpose_product(chain.pattern, chain.values, X, Y);
    EXPECT_CLOSE(packed.apply_transpose(X), Y, 1e-13);
  }
}

TEST(PackedChord, RoundsToItsBits) {
  const ChordFactors chain = random_chain(chord_reference_pattern(300));
  const Vector exact = Vector::Map(chain.values.data(), static_cast<Index>(chain.values.size()));
  double before = 1;
  for (const int bits : {2, 4, 8, 12, 16}) {
    const ChordFactors back = PackedChord::rounded(chain, bits).unpacked();
    const Vector rounded = Vector::Map(back.values.data(), exact.size());
    const double error = (rounded - exact).norm() / exact.norm();
    EXPECT_LT(error, 0.4 * before) << bits;
    before = error;
  }
  EXPECT_LT(before, 5e-5);
}

TEST(PackedChord, ABitsWidthAndItsPartOfAScaleAreAllThatAValueTakes) {
  const ChordPattern pattern = chord_reference_pattern(6400);
  const PackedChord packed = PackedChord::rounded(random_chain(pattern), 8);
  const auto values = static_cast<double>(pattern.stored_numbers());
  EXPECT_EQ(packed.storage().numbers, pattern.stored_numbers());
  EXPECT_NEAR(static_cast<double>(packed.storage().bytes), values * (1 + 4.0 / 64), 2000);
}

TEST(PackedChord, BitsDoNotDependOnTheThreads) {
  const PackedChord packed = PackedChord::rounded(random_chain(chord_alternating_pattern(3000)), 8);
  const Matrix X = test::random_matrix(3000, 2, 5);
  const test::ThreadCount one(1);
  const Matrix forward = packed.apply(X);
  const Matrix backward = packed.apply_transpose(X);
  const test::ThreadCount three(3);
  EXPECT_SAME_BITS(packed.apply(X), forward);
  EXPECT_SAME_BITS(packed.apply_transpose(X), backward);
}

TEST(PackedChord, RefusesValuesOfAnotherSize) {
  const std::vector<std::uint8_t> widths(3, 8);
  EXPECT_THROW(PackedChord(chord_reference_pattern(8),
                           PackedMatrix::rounded(test::random_matrix(8, 3), widths)),
               InvalidArgument);
  EXPECT_THROW(PackedChord::rounded(random_chain(chord_reference_pattern(8)), 17), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
