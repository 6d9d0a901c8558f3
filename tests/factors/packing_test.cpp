#include "matapprox/factors/packing.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "factors/quantizer.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/kernels/lapack.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox {
namespace {

Vector geometric(Index count, double ratio) {
  Vector values(count);
  for (Index k = 0; k < count; ++k) values(k) = std::pow(ratio, static_cast<double>(k));
  return values;
}

/// The truncated SVD of A with the given rank.
FactorProduct svd_product(const Matrix& A, Index rank) {
  const kernels::Svd svd = kernels::svd(A);
  return FactorProduct({make_factor("U", Matrix(svd.U.leftCols(rank))),
                        make_factor("S", Vector(svd.S.head(rank))),
                        make_factor("V", Matrix(svd.V.leftCols(rank)), true)});
}

double relative_error(const Matrix& A, const PackedProduct& packed) {
  return (test::dense_of(FactorProduct(packed.factors)) - A).norm() / A.norm();
}

TEST(Packing, KeepsToTheBytesAndComesNearWhatIsExpected) {
  const Matrix A = test::with_singular_values(200, 150, geometric(150, 0.8));
  const FactorProduct B = svd_product(A, 100);
  const Vector values = geometric(100, 0.8);
  for (const double bytes : {1000.0, 4000.0, 20000.0}) {
    const PackedProduct packed = pack_low_rank(B, {bytes, 0});
    EXPECT_LE(static_cast<double>(FactorProduct(packed.factors).storage().bytes), bytes);
    const double expected = packing_error(values, A.norm(), 200, 150, false, bytes).at_least;
    const double error = relative_error(A, packed);
    EXPECT_LT(error, 1.4 * expected) << bytes;
    EXPECT_GT(error, 0.5 * expected) << bytes;
    // Compared with doubles of the same number of bytes.
    const auto rank = static_cast<Index>(bytes / (8 * 351));
    EXPECT_LT(error, 0.5 * std::pow(0.8, static_cast<double>(rank)));
  }
}

TEST(Packing, FitsVToTheRoundedU) {
  const Matrix A = test::with_singular_values(120, 90, geometric(90, 0.6));
  const PackedProduct packed = pack_low_rank(svd_product(A, 90), {2000, 0});
  const Matrix U = test::dense_of(FactorProduct({packed.factors.front()}));
  const auto& stored = std::get<PackedMatrix>(*packed.factors.back().value);
  const Matrix V = stored.columns(index_range(0, stored.cols()));
  const Matrix fitted = A.transpose() * U * (U.transpose() * U).inverse();
  const PackedMatrix rounded = PackedMatrix::rounded(fitted, stored.content().bits);
  const Matrix nearest = rounded.columns(index_range(0, rounded.cols()));
  EXPECT_LT((V - fitted).norm(), 1.001 * (nearest - fitted).norm());
}

TEST(Packing, OfASymmetricMatrixStoresUOnce) {
  const Matrix Q = kernels::thin_qr(test::random_matrix(120, 120));
  Vector values = geometric(120, 0.7);
  for (Index k = 1; k < 120; k += 2) values(k) = -values(k);
  const Matrix A = Q * values.asDiagonal() * Q.transpose();
  const Factor U = make_factor("U", Matrix(Q.leftCols(60)));
  const FactorProduct B({U, make_factor("L", Vector(values.head(60))), {"U", U.value, true}});
  const PackedProduct packed = pack_low_rank(B, {3000, 0});
  const FactorProduct product(packed.factors);
  EXPECT_LE(product.storage().bytes, 3000);
  EXPECT_TRUE(product.known_facts().symmetric.value_or(false));
  const Vector sizes = values.cwiseAbs();
  const double expected = packing_error(sizes, A.norm(), 120, 120, true, 3000).at_least;
  EXPECT_LT(relative_error(A, packed), 1.4 * expected);
}

TEST(Packing, KeepsToAnError) {
  const Matrix A = test::with_singular_values(150, 180, geometric(150, 0.85));
  const FactorProduct B = svd_product(A, 150);
  Index before = 0;
  for (const double tolerance : {0.3, 1e-2, 1e-5, 1e-9}) {
    const double limit = tolerance * A.norm();
    const PackedProduct packed = pack_low_rank(B, {std::numeric_limits<double>::infinity(), limit});
    EXPECT_LT(relative_error(A, packed), 1.2 * tolerance);
    EXPECT_GT(relative_error(A, packed), 0.4 * tolerance);
    const Index bytes = FactorProduct(packed.factors).storage().bytes;
    EXPECT_GT(bytes, before);
    before = bytes;
  }
}

/// The squares of singular values leave the range of doubles from 1e155 on.
TEST(Packing, ChoosesTheSameBitsInAnyUnit) {
  const Matrix A = test::with_singular_values(50, 40, geometric(40, 0.7));
  const auto bits_of = [](const PackedProduct& packed) {
    return std::get<PackedMatrix>(*packed.factors.front().value).content().bits;
  };
  const auto packed_in = [&](double unit, const PackingLimit& limit) {
    const kernels::Svd svd = kernels::svd(Matrix(A));
    return pack_low_rank(FactorProduct({make_factor("U", svd.U),
                                        make_factor("S", Vector(svd.S * unit)),
                                        make_factor("V", svd.V, true)}),
                         limit);
  };
  const double infinite = std::numeric_limits<double>::infinity();
  const auto by_bytes = bits_of(packed_in(1, {900, 0}));
  const auto by_error = bits_of(packed_in(1, {infinite, 1e-3}));
  for (const int exponent : {-1000, -500, -240, 250, 500, 1000}) {
    const double unit = std::ldexp(1.0, exponent);
    EXPECT_EQ(bits_of(packed_in(unit, {900, 0})), by_bytes) << exponent;
    EXPECT_EQ(bits_of(packed_in(unit, {infinite, 1e-3 * unit})), by_error) << exponent;
  }
}

TEST(Packing, WhatIsNotKnownIsAsLargeAsItCanBe) {
  const Vector values = geometric(60, 0.9);
  const double norm = values.norm();
  for (const double bytes : {500.0, 3000.0, 12000.0}) {
    const double of_all = packing_error(values, norm, 80, 60, false, bytes).at_least;
    for (const Index known : {5, 20, 40}) {
      const double of_some = packing_error(values.head(known), norm, 80, 60, false, bytes).at_least;
      EXPECT_LE(of_some, 1.02 * of_all) << known << " " << bytes;
    }
  }
  EXPECT_EQ(packing_error(Vector::Zero(3), 0, 80, 60, false, 500).at_least, 0);
}

TEST(Packing, RefusesWhatItCannotPack) {
  const FactorProduct one({make_factor("A", Matrix(Matrix::Ones(4, 4)))});
  EXPECT_THROW(pack_low_rank(one, {1000, 0}), InvalidArgument);
  const FactorProduct B = svd_product(Matrix::Ones(40, 40), 2);
  EXPECT_THROW(pack_low_rank(B, {10, 0}), BudgetTooSmall);
  EXPECT_THROW(pack_low_rank(B, {}), InvalidArgument);
}

TEST(Packing, OfZeroIsZero) {
  const FactorProduct B({make_factor("U", Matrix(Matrix::Zero(30, 2))),
                         make_factor("V", Matrix(Matrix::Zero(2, 30)))});
  const PackedProduct packed = pack_low_rank(B, {1000, 0});
  EXPECT_EQ(test::dense_of(FactorProduct(packed.factors)).norm(), 0);
}

/// At each price the choice minimizes error + price * bytes over all choices of widths for three
/// components.
TEST(ComponentBits, AsManyEqualComponentsAsFit) {
  // All equal squares change their width at one price. 0.7 also tries a price that is rounded.
  const ComponentBits components(8, 8, 10, {3, 4, 6, 8});
  for (const double square : {1.0, 0.7, 0.3}) {
    const Vector squares = Vector::Constant(8, square);
    double error = 8 * square;
    for (const double bytes : {20.0, 56.0, 100.0, 150.0}) {
      const ComponentBits::Choice choice = components.within_bytes(squares, bytes);
      EXPECT_LE(choice.bytes, bytes) << square;
      EXPECT_GT(choice.bytes, bytes - 20);  // no further component fits
      EXPECT_LT(choice.squared_error, error);
      error = choice.squared_error;
    }
  }
}

TEST(ComponentBits, NoChoiceOfWidthsBetweenItsTwoNeighborsIsBetter) {
  const std::vector<int> widths{3, 4, 6, 8, 12, 16};
  const ComponentBits components(40, 30, 10, widths);
  Vector squares(3);
  squares << 1, 0.05, 1e-4;
  const auto bytes_of = [](int bits) {
    return bits == 0 ? 0.0
                     : static_cast<double>(packed_bytes(40, bits) + packed_bytes(30, bits)) + 10;
  };
  const auto noise_of = [](int bits) { return bits == 0 ? 1 : 2 * quantization_noise(bits); };
  const std::vector<int> all{0, 3, 4, 6, 8, 12, 16};
  for (int exponent = -40; exponent < 0; ++exponent) {
    const double price = std::exp2(exponent);
    const ComponentBits::Choice choice = components.at_price(squares, price);
    double least = std::numeric_limits<double>::infinity();
    for (const int a : all) {
      for (const int b : all) {
        for (const int c : all) {
          const double error =
              squares(0) * noise_of(a) + squares(1) * noise_of(b) + squares(2) * noise_of(c);
          least = std::min(least, error + price * (bytes_of(a) + bytes_of(b) + bytes_of(c)));
        }
      }
    }
    EXPECT_NEAR(choice.squared_error + price * choice.bytes, least, 1e-12 * least);
  }
}

}  // namespace
}  // namespace matapprox
