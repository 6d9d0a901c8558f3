#include "matapprox/factors/compressed_matrix.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "factors/xz.hpp"
#include "matapprox/core/error.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

Matrix cosines(Index rows, Index cols) {
  return Matrix::NullaryExpr(rows, cols, [&](Index i, Index j) {
    return std::cos(3.14159265358979 / static_cast<double>(rows) * (static_cast<double>(i) + 0.5) *
                    static_cast<double>(j));
  });
}

Matrix all_columns(const CompressedMatrix& C, bool transposed) {
  return C.columns(transposed, index_range(0, transposed ? C.rows() : C.cols()));
}

class Compressed : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!xz::is_available()) GTEST_SKIP() << "this build has no liblzma";
  }
};

TEST_F(Compressed, HoldsEveryBit) {
  Matrix odd = test::random_matrix(13, 17);
  odd(3, 4) = -0.0;
  odd(4, 4) = std::numeric_limits<double>::denorm_min();
  odd(5, 4) = 1e300;
  for (const Matrix& A : {odd,
                          Matrix(Matrix::Constant(1, 1, 7)),
                          cosines(97, 40),
                          Matrix(cosines(61, 61) + cosines(61, 61).transpose())}) {
    const auto made = CompressedMatrix::of(A);
    ASSERT_TRUE(made);
    // Decompressed again, not the entries that were at hand.
    const CompressedMatrix C(made->content());
    EXPECT_SAME_BITS(all_columns(C, false), A);
    EXPECT_SAME_BITS(all_columns(C, true), Matrix(A.transpose()));
    EXPECT_EQ(C.content().symmetric, A == A.transpose());
    EXPECT_EQ(C.storage().bytes,
              static_cast<Index>(C.content().data.size() + 4 * C.content().lengths.size()));
    const Matrix X = test::random_matrix(A.cols(), 3, 2);
    const Matrix Z = test::random_matrix(A.rows(), 3, 3);
    EXPECT_CLOSE(C.apply(1e-290 * X), A * (1e-290 * X), 1e-14);
    EXPECT_CLOSE(C.apply_transpose(1e-290 * Z), A.transpose() * (1e-290 * Z), 1e-14);
  }
}

TEST_F(Compressed, TakesLessWhereValuesRepeatOrExponentsAreAlike) {
  const Matrix repeating = cosines(256, 256);
  EXPECT_LT(CompressedMatrix::of(repeating)->storage().bytes, 0.4 * 8 * 256 * 256);
  const Matrix noise = test::random_matrix(256, 256);
  EXPECT_LT(CompressedMatrix::of(noise)->storage().bytes, 0.92 * 8 * 256 * 256);
  EXPECT_FALSE(CompressedMatrix::of(noise, 0.5 * 8 * 256 * 256));
  EXPECT_FALSE(CompressedMatrix::of(repeating, 100));
}

TEST_F(Compressed, PutsBytesOfEqualWeightTogetherWhereThatIsSmaller) {
  const Matrix B = test::random_matrix(16, 16);
  const Matrix C = test::random_matrix(16, 16, 2);
  const Matrix products = Matrix::NullaryExpr(
      256, 256, [&](Index i, Index j) { return B(i / 16, j / 16) * C(i % 16, j % 16); });
  const auto made = CompressedMatrix::of(products);
  ASSERT_TRUE(made->content().by_byte);
  EXPECT_LT(made->storage().bytes, 0.85 * 8 * 256 * 256);
  EXPECT_SAME_BITS(all_columns(CompressedMatrix(made->content()), false), products);
}

TEST_F(Compressed, SeveralStreamsHaveTheSameBitsForAnyNumberOfThreads) {
  const Matrix A = cosines(1100, 64).replicate(1, 40);
  const auto made = CompressedMatrix::of(A);
  ASSERT_EQ(made->content().lengths.size(), 2U);
  const Matrix X = test::random_matrix(A.cols(), 2, 4);
  const Matrix expected = made->apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount use(count);
    const CompressedMatrix C(made->content());
    EXPECT_SAME_BITS(all_columns(C, false), A);
    EXPECT_SAME_BITS(C.apply(X), expected);
    EXPECT_EQ(CompressedMatrix::of(A)->content().data, made->content().data);
  }
}

TEST_F(Compressed, RefusesWhatDoesNotFitTogether) {
  const auto made = CompressedMatrix::of(cosines(20, 30));
  const auto refuses = [&](auto change) {
    CompressedMatrix::Content content = made->content();
    change(content);
    EXPECT_THROW(CompressedMatrix{content}, InvalidArgument);
  };
  refuses([](auto& c) { c.rows = 0; });
  refuses([](auto& c) { c.rows = 21; });
  // A matrix of 2^25 entries may be in few bytes; one of more needs a byte for 32.
  refuses([](auto& c) { c.rows = Index{1} << 21; });
  refuses([](auto& c) { c.symmetric = true; });
  refuses([](auto& c) { c.lengths.push_back(0); });
  refuses([](auto& c) { c.lengths = {-1}; });
  refuses([](auto& c) { c.data[c.data.size() / 2] ^= 4; });
  refuses([](auto& c) {
    c.data.pop_back();
    --c.lengths[0];
  });
  refuses([](auto& c) {
    c.data.push_back(0);
    ++c.lengths[0];
  });
  CompressedMatrix::Content infinite =
      CompressedMatrix::of(Matrix::Constant(5, 5, std::numeric_limits<double>::infinity()))
          ->content();
  EXPECT_THROW(CompressedMatrix{infinite}, InvalidArgument);
  EXPECT_THROW(made->apply(Matrix::Zero(20, 1)), InvalidArgument);
}

TEST_F(Compressed, AMatrixOfMoreThan32EntriesForEachByteIsNotStored) {
  EXPECT_TRUE(CompressedMatrix::of(Matrix::Constant(4096, 1024, 2)));
  EXPECT_FALSE(CompressedMatrix::of(Matrix::Constant(4097, 8192, 2)));
}

}  // namespace
}  // namespace matapprox
