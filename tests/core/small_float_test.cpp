#include "core/small_float.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace matapprox {
namespace {

TEST(SmallFloat, Float16IsThatOfIeee754) {
  const struct {
    double value;
    std::uint16_t word;
  } known[] = {{0.0, 0x0000},
               {-0.0, 0x8000},
               {1.0, 0x3C00},
               {-2.0, 0xC000},
               {0.0999755859375, 0x2E66},
               {65504, 0x7BFF},
               {0x1p-14, 0x0400},
               {0x1p-24, 0x0001},
               {0x1.ff8p-15, 0x03FF}};
  for (const auto& pair : known) {
    EXPECT_EQ(kFloat16.word(pair.value), pair.word) << pair.value;
    EXPECT_EQ(kFloat16.value(pair.word), pair.value) << pair.word;
  }
  EXPECT_EQ(kFloat16.largest(), 65504);
  EXPECT_EQ(kFloat16.least_normal(), 0x1p-14);
}

TEST(SmallFloat, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(kFloat16.rounded(0.1), 0.0999755859375);
  EXPECT_EQ(kFloat16.rounded(2049), 2048);
  EXPECT_EQ(kFloat16.rounded(2051), 2052);
  EXPECT_EQ(kFloat16.rounded(-0x1p-25), 0);
  EXPECT_EQ(kFloat16.rounded(0x1.8p-25), 0x1p-24);
  EXPECT_EQ(kFloat16.rounded(65519), 65504);
  EXPECT_TRUE(std::isinf(kFloat16.rounded(65520)));
  EXPECT_TRUE(std::isinf(kBfloat16.rounded(-3.4e38)));
  EXPECT_EQ(kBfloat16.rounded(0x1p-135), 0);
}

TEST(SmallFloat, AllNumbersComeBack) {
  for (const SmallFloat& format : {kFloat16, kBfloat16}) {
    for (unsigned word = 0; word < 0x10000U; ++word) {
      const double value = format.value(static_cast<std::uint16_t>(word));
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(format.rounded(value), value);
      EXPECT_EQ(format.word(value), word);
    }
  }
}

/// Bfloat16 is the upper half of a float.
TEST(SmallFloat, Bfloat16IsTheUpperHalfOfAFloat) {
  for (unsigned word = 0; word < 0x10000U; word += 7) {
    const auto value = static_cast<double>(std::bit_cast<float>(std::uint32_t{word} << 16U));
    if (std::isfinite(value)) {
      EXPECT_EQ(kBfloat16.value(static_cast<std::uint16_t>(word)), value);
    }
  }
}

}  // namespace
}  // namespace matapprox
