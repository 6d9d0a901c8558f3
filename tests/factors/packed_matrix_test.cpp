#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/linear_operator.hpp"
#include "matapprox/factors/packed.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using PackedContent = PackedMatrix::Content;

Matrix unpacked(const PackedMatrix& A) { return A.columns(index_range(0, A.cols())); }

/// Widths from 1 to 16, width 0, and IEEE numbers, with runs of equal widths among them.
std::vector<std::uint8_t> many_widths(Index count) {
  const std::vector<std::uint8_t> pattern{4, 4, 4, 4, 4, 1, 3, 0, 8, 8, 8, 8, 16, 12, 32, 64, 6};
  std::vector<std::uint8_t> widths;
  for (Index j = 0; j < count; ++j) {
    widths.push_back(pattern[static_cast<std::size_t>(j) % pattern.size()]);
  }
  return widths;
}

TEST(PackedMatrix, ProductsAreThoseOfWhatItStandsFor) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{2500, 40}, {37, 150}, {1, 5}}) {
    const PackedMatrix A =
        PackedMatrix::rounded(test::random_matrix(rows, cols), many_widths(cols));
    const Matrix dense = unpacked(A);
    for (const Index b : {1, 3, 8, 70}) {
      const Matrix X = test::random_matrix(cols, b, 2);
      const Matrix Y = test::random_matrix(rows, b, 3);
      EXPECT_CLOSE(A.apply(X), dense * X, 1e-14);
      EXPECT_CLOSE(A.apply_transpose(Y), dense.transpose() * Y, 1e-13);
    }
  }
}

TEST(PackedMatrix, BitsDoNotDependOnTheThreads) {
  const PackedMatrix A = PackedMatrix::rounded(test::random_matrix(3000, 90), many_widths(90));
  const Matrix X = test::random_matrix(90, 2, 2);
  const Matrix Y = test::random_matrix(3000, 2, 3);
  const test::ThreadCount one(1);
  const Matrix AX = A.apply(X);
  const Matrix AtY = A.apply_transpose(Y);
  for (const int count : {2, 5}) {
    const test::ThreadCount several(count);
    EXPECT_SAME_BITS(A.apply(X), AX);
    EXPECT_SAME_BITS(A.apply_transpose(Y), AtY);
  }
}

TEST(PackedMatrix, RoundsEachColumnToItsWidth) {
  const Matrix A = test::random_matrix(4000, 5) * 1e-100;
  const std::vector<std::uint8_t> widths{0, 4, 8, 32, 64};
  const Matrix error = unpacked(PackedMatrix::rounded(A, widths)) - A;
  EXPECT_EQ(error.col(0), -A.col(0));
  // The noise of normal values is sqrt(0.01154) and sqrt(8.77e-5).
  EXPECT_NEAR(error.col(1).norm() / A.col(1).norm(), 0.1074, 0.005);
  EXPECT_NEAR(error.col(2).norm() / A.col(2).norm(), 0.00936, 0.0012);
  EXPECT_LT(error.col(3).norm() / A.col(3).norm(), 1e-7);
  EXPECT_EQ(error.col(4).norm(), 0);
}

TEST(PackedMatrix, CountsValuesAndAllBytes) {
  const PackedMatrix A =
      PackedMatrix::rounded(test::random_matrix(10, 3), std::vector<std::uint8_t>{3, 0, 16});
  EXPECT_EQ(A.storage().numbers, 20);
  EXPECT_EQ(A.storage().bytes, 4 + 20 + 3 * 1 + 3 * 4);  // 30 bits are 4 bytes
}

TEST(PackedMatrix, HoldsIntegersExactly) {
  Matrix image(33, 20);
  for (Index i = 0; i < image.size(); ++i) image.data()[i] = static_cast<double>(i * 7919 % 256);
  const auto packed = PackedMatrix::exact_integers(image);
  ASSERT_TRUE(packed.has_value());
  EXPECT_EQ(packed->content().bits.front(), 8);
  EXPECT_EQ(unpacked(*packed), image);
  const Matrix two_values = (image.array() > 100).cast<double>() * 5 - 1000;
  const auto few = PackedMatrix::exact_integers(two_values);
  ASSERT_TRUE(few.has_value());
  EXPECT_EQ(few->content().bits.front(), 3);
  EXPECT_EQ(unpacked(*few), two_values);
  EXPECT_FALSE(PackedMatrix::exact_integers(image * 0.3).has_value());
  EXPECT_FALSE(PackedMatrix::exact_integers(image * 1000).has_value());
}

TEST(PackedMatrix, HoldsIntegersInTheFewestBits) {
  for (const auto& [largest, bits] :
       {std::pair<int, int>{1, 1}, {2, 2}, {3, 2}, {4, 3}, {255, 8}, {256, 9}, {65535, 16}}) {
    Matrix A(4, 3);
    A << 0, 1, 0, largest, 0, 1, 0, largest, largest - 1, 1, 0, 0;
    for (const double least : {0.0, -7.0, 1e9}) {
      const Matrix moved = (A.array() + least).matrix();
      const auto packed = PackedMatrix::exact_integers(moved);
      ASSERT_TRUE(packed.has_value());
      EXPECT_EQ(packed->content().bits.front(), bits) << largest;
      EXPECT_SAME_BITS(unpacked(*packed), moved);
    }
  }
}

// A file may contain any scale for it.
TEST(PackedMatrix, AColumnOfNoBitsIsZeroWhateverItsScale) {
  PackedContent content =
      PackedMatrix::rounded(test::random_matrix(20, 5), std::vector<std::uint8_t>{4, 4, 0, 4, 4})
          .content();
  content.data.resize(4 * 10);
  content.scales[2] = 3;
  const PackedMatrix A(content);
  const Matrix dense = unpacked(A);
  EXPECT_EQ(dense.col(2).norm(), 0);
  const Matrix x = test::random_matrix(5, 1, 2);
  EXPECT_CLOSE(A.apply(x), dense * x, 1e-14);
  const Matrix y = test::random_matrix(20, 1, 3);
  EXPECT_CLOSE(A.apply_transpose(y), dense.transpose() * y, 1e-14);
}

TEST(PackedMatrix, GroupsOfRowsHaveScalesOfTheirOwn) {
  // 20 rows in groups of 8: 8, 8 and 4; two columns of 8 bits, q = row in the first, -row in the
  // second.
  PackedContent content{20, 2, 8, 0.5, 0.25, {8, 8}, {1, 2, 4, 1, 10, 100}, {}};
  for (int column = 0; column < 2; ++column) {
    for (int row = 0; row < 20; ++row) {
      content.data.push_back(static_cast<std::uint8_t>(column == 0 ? row : -row));
    }
  }
  const PackedMatrix A(content);
  Matrix expected(20, 2);
  for (Index i = 0; i < 20; ++i) {
    expected(i, 0) =
        0.5 * content.scales[static_cast<std::size_t>(i / 8)] * (static_cast<double>(i) + 0.25);
    expected(i, 1) = 0.5 * content.scales[static_cast<std::size_t>(3 + i / 8)] *
                     (-static_cast<double>(i) + 0.25);
  }
  EXPECT_EQ(unpacked(A), expected);
  const Matrix X = test::random_matrix(2, 1);
  EXPECT_CLOSE(A.apply(X), expected * X, 1e-14);
  const Matrix Y = test::random_matrix(20, 1);
  EXPECT_CLOSE(A.apply_transpose(Y), expected.transpose() * Y, 1e-14);
}

TEST(PackedMatrix, RefusesWhatDoesNotFitTogether) {
  const PackedContent right{16, 2, 16, 1, 0, {4, 8}, {1, 1}, std::vector<std::uint8_t>(8 + 16)};
  EXPECT_NO_THROW(PackedMatrix{right});
  const auto refused = [&](const std::function<void(PackedContent&)>& change, const char* why) {
    PackedContent wrong = right;
    change(wrong);
    EXPECT_REFUSED(InvalidArgument, PackedMatrix(std::move(wrong)), why);
  };
  refused([](PackedContent& c) { c.bits[1] = 17; }, "values of 17 bits");
  refused([](PackedContent& c) { c.bits.push_back(4); }, "3 widths for 2 columns");
  refused([](PackedContent& c) { c.scales.pop_back(); }, "1 scales");
  refused([](PackedContent& c) { c.scales[0] = std::numeric_limits<float>::infinity(); },
          "not finite");
  refused([](PackedContent& c) { c.unit = std::nan(""); }, "not finite");
  refused([](PackedContent& c) { c.data.pop_back(); }, "the data end");
  refused([](PackedContent& c) { c.data.push_back(0); }, "25 bytes");
  refused([](PackedContent& c) { c.group = 4; }, "groups of 4 rows");
  refused([](PackedContent& c) { c.group = 0; }, "groups of 0 rows");
  refused([](PackedContent& c) { c.rows = Index{1} << 48; }, "");
  // 64 bits in each of 2^58 rows are 2^64 bits, which overflow to 0 in 64 bits.
  refused(
      [](PackedContent& c) {
        c.rows = c.group = Index{1} << 58;
        c.bits = {64, 64};
        c.data.clear();
      },
      "the data end");
  refused([](PackedContent& c) { c.group = std::numeric_limits<Index>::max(), c.bits[1] = 3; },
          "the widths require 14");
  refused(
      [](PackedContent& c) {
        c.bits = {64, 0};
        c.data.assign(128, 0xFF);
      },
      "a value is not finite");
}

}  // namespace
}  // namespace matapprox
