#include "matapprox/factors/dictionary_matrix.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

/// A matrix with the values 0 .. count - 1, each divided by 7.
Matrix with_values(Index count, Index rows, Index cols) {
  const double most = static_cast<double>(count) - 0.5;
  const Matrix angles = 9 * test::random_matrix(rows, cols, 5);
  Matrix A = (most * (0.5 + 0.5 * angles.array().sin())).floor().min(most).matrix() / 7;
  for (Index k = 0; k < std::min(count, A.size()); ++k) A.data()[k] = static_cast<double>(k) / 7;
  return A;
}

void expect_dictionary(const Matrix& A, int bits, bool symmetric) {
  const std::optional<DictionaryMatrix> D = DictionaryMatrix::of(A);
  ASSERT_TRUE(D.has_value());
  EXPECT_EQ(D->content().bits, bits);
  EXPECT_EQ(D->content().symmetric, symmetric);
  const FactorProduct product({make_factor("A", *D)});
  EXPECT_SAME_BITS(product.columns_at(index_range(0, A.cols())), A);
  std::vector<Index> rows{A.rows() - 1, 0};
  EXPECT_EQ(product.rows_at(rows), A(rows, Eigen::all).transpose());
  const Index entries = symmetric ? A.rows() * (A.rows() + 1) / 2 : A.size();
  const auto values = static_cast<Index>(D->content().values.size());
  const Index packed = (entries * bits + 7) / 8 + bytes_per_value(D->list_precision()) * values;
  if (D->content().lengths.empty()) {
    EXPECT_EQ(product.storage().bytes, packed);
  } else {
    EXPECT_LE(static_cast<double>(product.storage().bytes), 0.95 * static_cast<double>(packed));
  }
  for (const Index columns : {1, 7}) {
    const Matrix X = test::random_matrix(A.cols(), columns, 2);
    const Matrix Y = test::random_matrix(A.rows(), columns, 3);
    EXPECT_CLOSE(D->apply(X), A * X, 1e-14);
    EXPECT_CLOSE(D->apply_transpose(Y), A.transpose() * Y, 1e-14);
  }
}

TEST(Dictionary, StoresEveryBitInTheFewestBits) {
  expect_dictionary(Matrix::Constant(5, 3, 2.5), 0, false);
  expect_dictionary(Matrix::Constant(90, 90, -1), 0, true);
  expect_dictionary(with_values(2, 30, 41), 1, false);
  expect_dictionary(with_values(10, 70, 131), 4, false);
  expect_dictionary(with_values(17, 131, 70), 5, false);
  expect_dictionary(with_values(4096, 100, 120), 12, false);
  const Matrix square = with_values(3, 150, 150);
  const Matrix sum = square + square.transpose();
  expect_dictionary(sum, 3, true);
}

/// Decodes the entries from what a file has of them, and encodes nothing again.
DictionaryMatrix read_again(const DictionaryMatrix& D) {
  DictionaryMatrix::Content content = D.content();
  content.data.assign(D.data().begin(), D.data().end());
  return DictionaryMatrix(std::move(content));
}

/// A matrix whose entries are sums of `terms` random numbers 0 or 1, each with probability 1/2.
Matrix binomial(Index terms, Index rows, Index cols) {
  std::mt19937_64 random(terms);
  return Matrix::NullaryExpr(rows, cols, [&] {
    int sum = 0;
    for (Index left = terms; left > 0; left -= 64)
      sum += std::popcount(random() >> (64 - std::min<Index>(left, 64)));
    return static_cast<double>(sum);
  });
}

// Independent entries take their entropy: nothing less is possible, and adaptive statistics and
// useless repetitions may cost a few percent.
TEST(Dictionary, CodedEntriesTakeAboutTheirEntropy) {
  for (const Index terms : {12, 2000}) {  // coded bit by bit, and by predictions
    const Matrix A = binomial(terms, 500, 500);
    const std::optional<DictionaryMatrix> D = DictionaryMatrix::of(A);
    ASSERT_TRUE(D && !D->content().lengths.empty());
    // Entropy of a binomial number, by the normal distribution of the same variance.
    const double variance = static_cast<double>(terms) / 4;
    const double bits = 0.5 * std::log2(2 * M_PI * M_E * variance);
    const double coded = 8 * static_cast<double>(D->data().size()) / static_cast<double>(A.size());
    EXPECT_GE(coded, 0.99 * bits) << terms;
    EXPECT_LE(coded, 1.05 * bits) << terms;
    EXPECT_SAME_BITS(read_again(*D).columns(false, index_range(0, 500)), A);
  }
}

TEST(Dictionary, RepetitionsTakeFewBytes) {
  // Sylvester's Hadamard matrix: the sign is the parity of the bits that both indices share.
  constexpr Index kOrder = 1024;
  Matrix H(kOrder, kOrder);
  for (Index j = 0; j < kOrder; ++j) {
    for (Index i = 0; i < kOrder; ++i)
      H(i, j) = std::popcount(static_cast<std::uint64_t>(i & j)) % 2 == 0 ? 1.0 : -1.0;
  }
  const DictionaryMatrix D = *DictionaryMatrix::of(H);
  EXPECT_LE(D.storage().bytes, 4500);  // zstd -19 takes 10,900
  EXPECT_SAME_BITS(read_again(D).columns(false, index_range(0, kOrder)), H);
}

TEST(Dictionary, ListsValuesInTheFewestBytesThatHoldThem) {
  const auto precision = [](double a, double b) {
    Matrix A = Matrix::Constant(4, 4, a);
    A(2, 1) = b;
    return DictionaryMatrix::of(A)->list_precision();
  };
  EXPECT_EQ(precision(2048, -0.5), Precision::kFloat16);
  EXPECT_EQ(precision(2049, -0.5), Precision::kFloat);
  EXPECT_EQ(precision(2, 0.1), Precision::kDouble);
}

TEST(Dictionary, AMultipleHasTheSameEntries) {
  const Matrix A = binomial(40, 60, 70);
  const DictionaryMatrix D = *DictionaryMatrix::of(A);
  EXPECT_SAME_BITS(D.multiplied(-3).columns(false, index_range(0, 70)), Matrix(A / 8));
  EXPECT_EQ(D.multiplied(-3).storage().bytes, D.storage().bytes);
}

TEST(Dictionary, RefusesCodedContentThatDoesNotFitTogether) {
  const DictionaryMatrix D = *DictionaryMatrix::of(binomial(12, 80, 90));
  DictionaryMatrix::Content good = D.content();
  good.data.assign(D.data().begin(), D.data().end());
  EXPECT_NO_THROW(DictionaryMatrix{good});
  const auto refuses = [&](auto change) {
    DictionaryMatrix::Content content = good;
    change(content);
    EXPECT_THROW(DictionaryMatrix{content}, InvalidArgument);
  };
  refuses([](auto& c) { c.lengths.push_back(0); });
  refuses([](auto& c) { c.data.pop_back(); });
  refuses([](auto& c) { c.bits = 12; });
  refuses([](auto& c) { c.values.resize(1); });
  // A small file cannot stand for a large matrix.
  refuses([](auto& c) { c.rows = c.cols = Index{1} << 20; });
  refuses([](auto& c) {
    c.lengths = {-1};
    c.data.clear();
  });
  // Other bytes are other entries, all of which are in the list.
  DictionaryMatrix::Content damaged = good;
  for (std::uint8_t& byte : damaged.data) byte = static_cast<std::uint8_t>(byte * 7 + 3);
  const Matrix other = DictionaryMatrix(damaged).columns(false, index_range(0, 90));
  EXPECT_TRUE((other.array() >= 0 && other.array() <= 12).all());
}

TEST(Dictionary, KeepsTheSignOfZero) {
  Matrix A = Matrix::Zero(4, 4);
  A(1, 2) = -0.0;
  const std::optional<DictionaryMatrix> D = DictionaryMatrix::of(A);
  ASSERT_TRUE(D.has_value());
  EXPECT_TRUE(std::signbit(D->columns(false, std::vector<Index>{2})(1, 0)));
  EXPECT_FALSE(std::signbit(D->columns(false, std::vector<Index>{1})(2, 0)));
}

TEST(Dictionary, HasALimitOfDifferentValues) {
  EXPECT_TRUE(DictionaryMatrix::of(with_values(4096, 80, 80)).has_value());
  EXPECT_FALSE(DictionaryMatrix::of(with_values(4097, 80, 80)).has_value());
  EXPECT_FALSE(DictionaryMatrix::of(test::random_matrix(80, 80)).has_value());
}

TEST(Dictionary, SameBitsForAnyNumberOfThreadsAndColumns) {
  const DictionaryMatrix D = *DictionaryMatrix::of(with_values(5, 133, 140));
  const Matrix X = test::random_matrix(140, 9, 2);
  const Matrix all = D.apply(X);
  for (const int count : {1, 2, 3}) {
    const test::ThreadCount threads(count);
    EXPECT_EQ(D.apply(X), all);
    EXPECT_EQ(D.apply(X.middleCols(2, 4)), all.middleCols(2, 4));
  }
}

TEST(Dictionary, RefusesContentThatDoesNotFitTogether) {
  const DictionaryMatrix::Content good{3, 4, false, 2, {1, 2, 3}, {0, 0, 0}};
  EXPECT_NO_THROW(DictionaryMatrix{good});
  const auto refuses = [&](auto change) {
    DictionaryMatrix::Content content = good;
    change(content);
    EXPECT_THROW(DictionaryMatrix{content}, InvalidArgument);
  };
  refuses([](auto& c) { c.rows = 0; });
  refuses([](auto& c) { c.rows = Index{1} << 40; });
  refuses([](auto& c) { c.symmetric = true; });
  refuses([](auto& c) { c.bits = 1; });
  refuses([](auto& c) { c.bits = 17; });
  refuses([](auto& c) { c.values.clear(); });
  refuses([](auto& c) { c.values.push_back(NAN); });
  refuses([](auto& c) { c.data.pop_back(); });
  // Position 1 + 2 is beyond a list of three.
  refuses([](auto& c) { c.data[1] = 1; });
}

}  // namespace
}  // namespace matapprox
