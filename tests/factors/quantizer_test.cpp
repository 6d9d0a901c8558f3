#include "factors/quantizer.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/random.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

std::span<const double> all_of(const Matrix& A) {
  return {A.data(), static_cast<std::size_t>(A.size())};
}

/// Squared error of quantizing the values, relative to their squared norm.
double measured_noise(const Matrix& A, int bits) {
  const double scale = static_cast<double>(quantizer_scale(all_of(A), bits));
  std::vector<std::int32_t> q(static_cast<std::size_t>(A.size()));
  quantize(all_of(A), bits, scale, q.data());
  double error = 0;
  for (Index i = 0; i < A.size(); ++i) {
    const double back = scale * (q[static_cast<std::size_t>(i)] + kQuantizerOffset);
    error += (A.data()[i] - back) * (A.data()[i] - back);
  }
  return error / A.squaredNorm();
}

// The table is for normal values. With 20,000 of them the mean squared error is accurate to a few
// percent, at a scale that is searched in steps.
TEST(Quantizer, NoiseOfNormalValuesIsTheTabulatedOne) {
  const Matrix A = test::random_matrix(200, 100);
  for (int bits = 1; bits <= 8; ++bits) {
    EXPECT_NEAR(measured_noise(A, bits) / quantization_noise(bits), 1, 0.1) << bits;
  }
  // Above 8 bits no value is clipped: 4.5 standard deviations at most, so that the noise is
  // smaller.
  for (const int bits : {9, 12, 16}) {
    EXPECT_LT(measured_noise(A, bits), 1.05 * quantization_noise(bits)) << bits;
    EXPECT_GT(measured_noise(A, bits), 0.4 * quantization_noise(bits)) << bits;
  }
}

TEST(Quantizer, ABitHalvesTheErrorAlmost) {
  for (int bits = 1; bits < 16; ++bits) {
    const double ratio = quantization_noise(bits) / quantization_noise(bits + 1);
    EXPECT_GT(ratio, 3.0) << bits;
    EXPECT_LT(ratio, 4.0) << bits;
  }
}

TEST(Quantizer, ScalesAreBfloat16AndZerosHaveNone) {
  for (const int bits : {2, 4, 8, 16}) {
    const float scale = quantizer_scale(all_of(test::random_matrix(50, 1)), bits);
    EXPECT_EQ(from_bfloat16(to_bfloat16(scale)), scale);
    EXPECT_GT(scale, 0);
  }
  EXPECT_EQ(quantizer_scale(all_of(Matrix::Zero(5, 1)), 4), 0);
}

// The levels nearest to 0 are half a scale away: a scale that represents one of 200 values well
// would give the zeros a larger error than that value.
TEST(Quantizer, LeavesOutAFewLargeValuesAmongZerosForWhichThereAreTooFewBits) {
  Matrix A = Matrix::Zero(200, 1);
  A(7) = 1;
  EXPECT_EQ(quantizer_scale(all_of(A), 1), 0);
  EXPECT_EQ(quantizer_scale(all_of(A), 2), 0);
  EXPECT_LT(measured_noise(A, 8), 0.1);
}

TEST(Quantizer, Bfloat16RoundsToTheNearestEven) {
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F)), 1.0F);
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 0x1p-8F)), 1.0F);                // ties to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(1.0F + 3 * 0x1p-8F)), 1.0F + 0x1p-6F);  // ties to even
  EXPECT_EQ(from_bfloat16(to_bfloat16(-1.5F - 0x1p-10F)), -1.5F);
}

TEST(Quantizer, FindsNumbersThatAreNotFinite) {
  for (const int bits : {32, 64}) {
    std::vector<std::uint8_t> data;
    const double largest = bits == 64 ? std::numeric_limits<double>::max()
                                      : static_cast<double>(std::numeric_limits<float>::max());
    const std::vector<double> values{1, -1e30, 0, -largest};
    append_ieee(values, bits, data);
    EXPECT_TRUE(ieee_finite(data.data(), 4, bits));
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
      std::vector<std::uint8_t> with = data;
      append_ieee({&bad, 1}, bits, with);
      EXPECT_FALSE(ieee_finite(with.data(), 5, bits));
    }
  }
}

}  // namespace
}  // namespace matapprox
