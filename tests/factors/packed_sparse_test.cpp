#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/packed.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/thread_count.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;
using SparseContent = PackedSparse::Content;

/// Entries with |a| > least of a matrix of normal numbers, transformed by `change`.
template <class Change>
SparseMatrix sparse_of_normals(Index rows, Index cols, double least, const Change& change) {
  const Matrix A = test::random_matrix(rows, cols, 7);
  return SparseMatrix(
      A.unaryExpr([&](double a) { return std::abs(a) > least ? change(a) : 0.0; }).sparseView());
}

SparseMatrix symmetrized(const SparseMatrix& A) {
  return SparseMatrix(A + SparseMatrix(A.transpose()));
}

void expect_same(const PackedSparse& packed, const SparseMatrix& A) {
  EXPECT_SAME_BITS(Matrix(packed.unpacked()), Matrix(A));
  const Matrix X = test::random_matrix(A.cols(), 3, 2);
  const Matrix Y = test::random_matrix(A.rows(), 2, 3);
  EXPECT_CLOSE(packed.apply(X), Matrix(A) * X, 1e-14);
  EXPECT_CLOSE(packed.apply_transpose(Y), Matrix(A).transpose() * Y, 1e-14);
  EXPECT_EQ(packed.nonzeros(), (Matrix(A).array() != 0).count());
}

TEST(PackedSparse, HoldsEveryKindOfValueExactly) {
  const auto one = [](double) { return 2.5; };
  const auto signs = [](double a) { return a > 0 ? 1.0 : -0.1; };
  const auto integers = [](double a) { return std::round(1000 * a); };
  const auto floats = [](double a) { return static_cast<double>(static_cast<float>(a)); };
  const auto doubles = [](double a) { return a; };
  const auto check = [](const SparseMatrix& A, SparseValues kind, int bits) {
    const PackedSparse packed = PackedSparse::packed(A);
    expect_same(packed, A);
    EXPECT_EQ(packed.content().kind, kind);
    EXPECT_EQ(packed.content().bits, bits);
    EXPECT_LT(packed.storage().bytes, 12 * A.nonZeros() + 8 * (A.rows() + 1));
  };
  check(sparse_of_normals(300, 170, 1.5, one), SparseValues::kDictionary, 0);
  check(sparse_of_normals(300, 170, 1.5, signs), SparseValues::kDictionary, 1);
  check(sparse_of_normals(300, 170, 1.5, integers), SparseValues::kIntegers, 14);
  check(sparse_of_normals(300, 170, 1.5, floats), SparseValues::kNumbers, 32);
  check(sparse_of_normals(300, 170, 1.5, doubles), SparseValues::kNumbers, 64);
  const auto nearly_floats = [](double a) {
    return static_cast<double>(static_cast<float>(a)) * (1 + 0x1p-40);
  };
  check(sparse_of_normals(300, 170, 1.5, nearly_floats), SparseValues::kNumbers, 64);
  check(symmetrized(sparse_of_normals(200, 200, 2, signs)), SparseValues::kDictionary, 3);
}

TEST(PackedSparse, OfASymmetricMatrixIsHalfAsLarge) {
  const SparseMatrix A =
      symmetrized(sparse_of_normals(400, 400, 2, [](double a) { return std::round(a); }));
  const PackedSparse packed = PackedSparse::packed(A);
  EXPECT_TRUE(packed.symmetric());
  EXPECT_LT(packed.storage().numbers, 0.51 * static_cast<double>(A.nonZeros()) + 400);
  expect_same(packed, A);
}

TEST(PackedSparse, EmptyRowsLongGapsAndNothingAtAll) {
  SparseMatrix wide(3, 5'000'000);
  wide.insert(0, 4'999'999) = 3;
  wide.insert(2, 0) = -1;
  const PackedSparse packed = PackedSparse::packed(wide);
  EXPECT_EQ(packed.unpacked().coeff(0, 4'999'999), 3);
  EXPECT_EQ(packed.unpacked().nonZeros(), 2);
  // Rows so long that no array of their length fits in memory.
  const PackedSparse longest({2,
                              Index{1} << 48,
                              1,
                              false,
                              SparseValues::kDictionary,
                              0,
                              1,
                              0,
                              {7},
                              {0, 1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20},
                              {}});
  EXPECT_EQ(longest.unpacked().coeff(1, Index{1} << 47), 7);
  expect_same(PackedSparse::packed(SparseMatrix(5, 4)), SparseMatrix(5, 4));
  SparseMatrix zeros(4, 4);
  zeros.insert(1, 2) = 0;
  EXPECT_EQ(PackedSparse::packed(zeros).nonzeros(), 0);
}

TEST(PackedSparse, BitsDoNotDependOnTheThreads) {
  const SparseMatrix A = sparse_of_normals(500, 300, 1.2, [](double a) { return a; });
  const Matrix X = test::random_matrix(300, 2, 2);
  const Matrix Y = test::random_matrix(500, 2, 3);
  const PackedSparse packed = PackedSparse::packed(A);
  const test::ThreadCount one(1);
  const Matrix forward = packed.apply(X);
  const Matrix backward = packed.apply_transpose(Y);
  const test::ThreadCount three(3);
  EXPECT_SAME_BITS(packed.apply(X), forward);
  EXPECT_SAME_BITS(packed.apply_transpose(Y), backward);
}

TEST(PackedSparse, RefusesWhatDoesNotFitTogether) {
  // [0 2 0; 5 0 7], indices -2, -1, 0 in two bits each.
  const SparseContent right{
      2, 3, 3, false, SparseValues::kDictionary, 2, 1, 0, {2, 5, 7}, {1, 1, 2, 0, 1}, {0b001110}};
  Matrix expected(2, 3);
  expected << 0, 2, 0, 5, 0, 7;
  EXPECT_SAME_BITS(Matrix(PackedSparse(right).unpacked()), expected);
  const auto expect_refused = [](const SparseContent& wrong, const char* why) {
    EXPECT_THAT([&] { PackedSparse{wrong}; },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr(why)));
  };
  const auto changed = [&](const auto& change) {
    SparseContent wrong = right;
    change(wrong);
    return wrong;
  };
  expect_refused(changed([](SparseContent& c) { c.structure[1] = 3; }), "outside the matrix");
  expect_refused(changed([](SparseContent& c) { c.structure[0] = 4; }), "outside the matrix");
  // An entry after the last column, even by one.
  expect_refused(changed([](SparseContent& c) { c.structure[3] = 2; }), "outside the matrix");
  expect_refused({1, 3, 2, false, SparseValues::kDictionary, 0, 1, 0, {1}, {2, 2, 0}, {}},
                 "outside the matrix");
  expect_refused(changed([](SparseContent& c) { c.structure.pop_back(); }), "truncated");
  expect_refused(changed([](SparseContent& c) { c.structure.push_back(0); }), "entries in");
  expect_refused(changed([](SparseContent& c) { c.structure.assign(12, 255); }), "too long");
  expect_refused(changed([](SparseContent& c) { c.data.push_back(0); }), "bytes of values");
  expect_refused(changed([](SparseContent& c) { c.data[0] = 0b010101; }), "beyond the dictionary");
  expect_refused(changed([](SparseContent& c) { c.dictionary.clear(); }), "dictionary");
  expect_refused(changed([](SparseContent& c) { c.dictionary[1] = std::nan(""); }), "not finite");
  expect_refused({1, 3, 1, false, SparseValues::kIntegers, 1, 1e308, 1e308, {}, {1, 0}, {0}},
                 "not finite");
  expect_refused(changed([](SparseContent& c) { c.bits = 17; }), "17 bits");
  expect_refused(changed([](SparseContent& c) { c.bits = 0; }), "0 bits");
  expect_refused(changed([](SparseContent& c) { c.symmetric = true; }), "not square");
  expect_refused(changed([](SparseContent& c) { c.entries = 7; }), "entries");
  expect_refused(changed([](SparseContent& c) { c.rows = Index{1} << 40; }), "truncated");
}

TEST(PackedSparse, RefusesWhatIsNotFinite) {
  for (const double wrong : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    SparseMatrix A(40, 40);
    for (Index i = 0; i < 40; ++i) A.insert(i, i) = i % 3 == 0 ? static_cast<double>(i) : wrong;
    EXPECT_THAT([&] { PackedSparse::packed(A); },
                testing::ThrowsMessage<InvalidArgument>(HasSubstr("not finite")));
  }
}

}  // namespace
}  // namespace matapprox
