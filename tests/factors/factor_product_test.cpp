#include "matapprox/factors/factor_product.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Matrix random_matrix(Index rows, Index cols, std::uint64_t seed) {
  return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
}

SparseMatrix random_sparse(Index rows, Index cols, std::uint64_t seed) {
  Matrix dense = random_matrix(rows, cols, seed);
  dense = (dense.array().abs() > 1.0).select(dense, 0.0);
  SparseMatrix sparse = dense.sparseView();
  sparse.makeCompressed();
  return sparse;
}

ChordFactors random_chord(const ChordPattern& pattern, std::uint64_t seed) {
  const Matrix values = random_matrix(pattern.stored_numbers(), 1, seed);
  return {pattern, std::vector<double>(values.data(), values.data() + values.size())};
}

/// W_1 ... W_M as a dense matrix, computed directly from the definition of the pattern.
Matrix dense_chord(const ChordFactors& chain) {
  const Index n = chain.pattern.order;
  Matrix product = Matrix::Identity(n, n);
  for (Index m = 0; m < chain.pattern.factors(); ++m) {
    Matrix W = Matrix::Zero(n, n);
    const auto& offsets = chain.pattern.offsets[static_cast<std::size_t>(m)];
    for (Index i = 0; i < n; ++i) {
      for (Index k = 0; k < chain.pattern.links(m); ++k) {
        const Index place = chain.pattern.first_value(m) + i * chain.pattern.links(m) + k;
        W(i, (i + offsets[static_cast<std::size_t>(k)]) % n) =
            chain.values[static_cast<std::size_t>(place)];
      }
    }
    product = product * W;
  }
  return product;
}

/// Every query of the operator must agree with `dense`.
void expect_equals(const FactorProduct& product, const Matrix& dense) {
  ASSERT_EQ(product.rows(), dense.rows());
  ASSERT_EQ(product.cols(), dense.cols());
  const double tolerance = 1e-13 * dense.norm() * static_cast<double>(dense.cols());
  const Matrix X = random_matrix(dense.cols(), 5, 91);
  EXPECT_NEAR((product.apply(X) - dense * X).norm(), 0, tolerance);
  const Matrix Y = random_matrix(dense.rows(), 3, 92);
  EXPECT_NEAR((product.apply_transpose(Y) - dense.transpose() * Y).norm(), 0, tolerance);
  const std::vector<Index> J{dense.cols() - 1, 0, 2, 3};
  const Matrix columns = product.columns_at(J);
  for (std::size_t c = 0; c < J.size(); ++c) {
    EXPECT_NEAR((columns.col(static_cast<Index>(c)) - dense.col(J[c])).norm(), 0, tolerance);
  }
  const std::vector<Index> I{1, dense.rows() - 1};
  const Matrix rows = product.rows_at(I);
  for (std::size_t c = 0; c < I.size(); ++c) {
    EXPECT_NEAR(
        (rows.col(static_cast<Index>(c)) - dense.row(I[c]).transpose()).norm(), 0, tolerance);
  }
}

/// Columns and rows of a sparse factor are gathered, also repeated ones and those of its transpose.
TEST(FactorProduct, ColumnsOfASparseFactorAreItsEntries) {
  const SparseMatrix F = random_sparse(30, 20, 5);
  const Matrix dense = F;
  const std::vector<Index> J{7, 0, 7, 19, 7};
  for (const bool transposed : {false, true}) {
    const FactorProduct product({make_factor("F", F, transposed)});
    const Matrix expected = transposed ? Matrix(dense.transpose()) : dense;
    EXPECT_EQ(product.columns_at(J), Matrix(expected(Eigen::all, J)));
    EXPECT_EQ(product.rows_at(J), Matrix(expected(J, Eigen::all).transpose()));
  }
}

TEST(FactorProduct, SvdShape) {
  const Matrix U = random_matrix(20, 4, 1);
  const Matrix V = random_matrix(15, 4, 2);
  const Vector S = random_matrix(4, 1, 3);
  const FactorProduct product(
      {make_factor("U", U), make_factor("S", S), make_factor("V", V, true)});
  expect_equals(product, U * S.asDiagonal() * V.transpose());
  EXPECT_EQ(product.storage().numbers, 20 * 4 + 4 + 15 * 4);
  EXPECT_EQ(product.storage().bytes, 8 * product.storage().numbers);
  EXPECT_EQ(product.description(), "U S V^T");
  EXPECT_EQ(product.known_facts().symmetric, false);
}

TEST(FactorProduct, SharedValuesAreCountedOnce) {
  const Matrix U = random_matrix(20, 4, 1);
  const Vector L = random_matrix(4, 1, 3);
  const auto u = std::make_shared<const FactorValue>(U);
  const FactorProduct product({{"U", u, false}, make_factor("L", L), {"U", u, true}});
  expect_equals(product, U * L.asDiagonal() * U.transpose());
  EXPECT_EQ(product.storage().numbers, 20 * 4 + 4);
  EXPECT_EQ(product.known_facts().symmetric, true);
  const FactorProduct not_mirrored(
      {{"U", u, false}, make_factor("W", random_matrix(4, 4, 5)), {"U", u, true}});
  EXPECT_FALSE(not_mirrored.known_facts().symmetric.has_value());
}

TEST(FactorProduct, SparseFactorsCountTheirEntriesAndIndices) {
  const SparseMatrix C = random_sparse(30, 6, 4);
  const Matrix U = random_matrix(6, 5, 5);
  const SparseMatrix R = random_sparse(5, 25, 6);
  const FactorProduct product({make_factor("C", C), make_factor("U", U), make_factor("R", R)});
  expect_equals(product, Matrix(C) * U * Matrix(R));
  EXPECT_EQ(product.storage().numbers, C.nonZeros() + 30 + R.nonZeros());
  EXPECT_EQ(product.storage().bytes, 12 * (C.nonZeros() + R.nonZeros()) + Index{8} * (31 + 30 + 6));
}

TEST(FactorProduct, ChordChainEqualAndUnequalLinks) {
  for (const ChordPattern& pattern : {chord_reference_pattern(37),
                                      chord_reference_pattern(64),
                                      ChordPattern{10, {{0, 3}, {1, 2, 9}, {0}}}}) {
    const ChordFactors chain = random_chord(pattern, 7);
    const FactorProduct product({make_factor("W", chain)});
    expect_equals(product, dense_chord(chain));
    EXPECT_EQ(product.storage().numbers, pattern.stored_numbers());
    // One integer for each offset, and one for the number of links of each factor.
    Index integers = pattern.factors();
    for (const auto& offsets : pattern.offsets) integers += static_cast<Index>(offsets.size());
    EXPECT_EQ(product.storage().bytes, 8 * (pattern.stored_numbers() + integers));
  }
}

TEST(FactorProduct, Symmetrized) {
  const ChordFactors chain = random_chord(chord_reference_pattern(12), 8);
  const FactorProduct product({make_factor("W", chain)}, true);
  const Matrix Z = dense_chord(chain);
  expect_equals(product, 0.5 * (Z + Z.transpose()));
  EXPECT_EQ(product.known_facts().symmetric, true);
}

TEST(FactorProduct, RandomProjectionStoresNothing) {
  for (const auto kind : {ProjectionKind::kGaussian,
                          ProjectionKind::kRademacher,
                          ProjectionKind::kSparse,
                          ProjectionKind::kSrht}) {
    const RandomProjection R(kind, 3, 6, 21);
    const Matrix B = random_matrix(10, 6, 9);
    const FactorProduct product({make_factor("B", B), make_factor("R", R)});
    expect_equals(product, B * R.columns(0, 21));
    EXPECT_EQ(product.storage().numbers, 60) << enum_name(kind);
  }
}

TEST(FactorProduct, SameBitsForEveryThreadCount) {
  const ChordFactors chain = random_chord(chord_reference_pattern(200), 8);
  const FactorProduct product(
      {make_factor("W", chain),
       make_factor("D", random_matrix(200, 90, 10)),
       make_factor("R", RandomProjection(ProjectionKind::kGaussian, 1, 90, 700))});
  const Matrix X = random_matrix(700, 70, 11);
  set_threads(1);
  const Matrix once = product.apply(X);
  const Matrix once_transposed = product.apply_transpose(once);
  for (const int count : {2, 3}) {
    set_threads(count);
    EXPECT_EQ(product.apply(X), once) << count;
    EXPECT_EQ(product.apply_transpose(once), once_transposed) << count;
  }
  set_threads(1);
}

TEST(FactorProduct, RoundingToFloatKeepsSharingAndHalvesTheBytes) {
  const auto u = std::make_shared<const FactorValue>(random_matrix(20, 4, 1));
  const std::vector<Factor> factors{{"U", u, false}, {"U", u, true}};
  const auto rounded = round_factors(factors, Precision::kFloat);
  EXPECT_EQ(rounded[0].value, rounded[1].value);
  const auto& values = std::get<Matrix>(*rounded[0].value);
  EXPECT_EQ(values, std::get<Matrix>(*u).cast<float>().cast<double>());
  EXPECT_NE(values, std::get<Matrix>(*u));
  EXPECT_EQ(FactorProduct(rounded, false, Precision::kFloat).storage().bytes, 20 * 4 * 4);
}

TEST(FactorProduct, MismatchedFactorsAreRefused) {
  EXPECT_THROW(FactorProduct({}), InvalidArgument);
  EXPECT_THAT(
      [] {
        FactorProduct({make_factor("A", Matrix(2, 3)), make_factor("B", Matrix(4, 2))});
      },
      ThrowsMessage<InvalidArgument>(HasSubstr("A has 3 columns, but B after it has 4 rows")));
  EXPECT_THROW(FactorProduct({make_factor("A", Matrix(2, 3))}, true), InvalidArgument);
}

TEST(FactorProduct, DiagonalWithDenseEndsIsThatOfTheProduct) {
  const auto random = [](Index rows, Index cols, std::uint64_t seed) {
    return random_normal_matrix(seed, RandomStream::kGenerator, rows, cols);
  };
  const Factor tall = make_factor("L", random(700, 5, 1));
  const Factor core = make_factor("M", random(5, 3, 2));
  const Factor wide = make_factor("R", random(3, 650, 3));
  const Factor standing = make_factor("R^T", random(650, 3, 4), true);
  for (const std::vector<Factor>& factors :
       {std::vector<Factor>{tall, core, wide},
        std::vector<Factor>{tall, core, standing},
        std::vector<Factor>{{"L", tall.value, false}, {"L", tall.value, true}}}) {
    const FactorProduct product(factors);
    EXPECT_GE(product.cost().multiplications_for_diagonal, 0);
    const Vector all = product.LinearOperator::diagonal();
    ASSERT_EQ(product.diagonal().size(), all.size());
    EXPECT_LE((product.diagonal() - all).norm(), 1e-13 * all.norm());
  }
  // Without dense outer factors the diagonal needs all columns.
  const FactorProduct diagonal({make_factor("D", Vector(Vector::Ones(4)))});
  EXPECT_LT(diagonal.cost().multiplications_for_diagonal, 0);
  EXPECT_EQ(diagonal.diagonal(), Vector::Ones(4));
}

TEST(RoundFactors, RefusesWhatFloatsCannotHold) {
  const auto rounded = [](const FactorValue& value) {
    return round_factors({make_factor("F", value)}, Precision::kFloat);
  };
  const auto refused = [&](const FactorValue& value, const char* why) {
    EXPECT_THAT([&] { rounded(value); },
                testing::ThrowsMessage<NumericalError>(testing::HasSubstr(why)));
  };
  const Matrix ones = Matrix::Ones(3, 2);
  for (const double small : {1e-60, 1e-42, 1e-300}) {
    refused(Matrix(small * ones), "are too small for floats");
    refused(Vector(Vector::Constant(4, small)), "are too small for floats");
    refused(SparseMatrix(Matrix(small * ones).sparseView(0, 0)), "are too small for floats");
    refused(ChordFactors{{2, {{0, 1}}}, {small, small, small, small}}, "are too small for floats");
  }
  refused(Matrix(1e39 * ones), "the largest float is 3.4e+38");
  // Small values beside large ones may become 0, and zeros are accepted.
  Matrix mixed = ones;
  mixed(0, 0) = 1e-60;
  EXPECT_EQ(std::get<Matrix>(*rounded(mixed)[0].value)(0, 0), 0.0);
  EXPECT_NO_THROW(rounded(Matrix(Matrix::Zero(2, 2))));
  EXPECT_NO_THROW(rounded(Matrix(1e-36 * ones)));
}

}  // namespace
}  // namespace matapprox
