#include "matapprox/factors/placed_matrix.hpp"

#include <gtest/gtest.h>

#include "matapprox/core/error.hpp"
#include "matapprox/factors/approximation.hpp"
#include "matapprox/factors/packing.hpp"
#include "matapprox/io/saved_approximation.hpp"
#include "support/conversions.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/paths.hpp"
#include "support/played_gpu.hpp"

// Matrices placed as on a GPU, by GPU code that runs on the host.

namespace matapprox {
namespace {

Factor placed(const std::string& name, const Matrix& values, bool transposed = false) {
  static const auto space = test::host_gpu_space();
  return make_factor(name, PlacedMatrix(MultiVector(space, values)), transposed);
}

/// U S V^T on the host and in the other memory space.
struct Pair {
  FactorProduct here;
  FactorProduct there;
};

Pair low_rank() {
  const Matrix U = test::random_matrix(30, 4);
  const Vector S = Vector::LinSpaced(4, 4, 1);
  const Matrix V = test::random_matrix(20, 4, 2);
  return {FactorProduct({make_factor("U", U), make_factor("S", S), make_factor("V", V, true)}),
          FactorProduct({placed("U", U), make_factor("S", S), placed("V", V, true)})};
}

Matrix in_place(const FactorProduct& A, bool transposed, const Matrix& X) {
  const MultiVector x(A.memory_space(), X);
  return to_host((transposed ? A.apply_transpose(x.columns()) : A.apply(x.columns())).columns());
}

TEST(PlacedMatrix, GivesItsNumbersInAnyPiece) {
  const Matrix values = test::random_matrix(12, 5);
  const Factor factor = placed("F", values);
  const auto& F = std::get<PlacedMatrix>(*factor.value);
  EXPECT_EQ(F.middle_rows(3, 4), values.middleRows(3, 4));
  EXPECT_EQ(F.middle_rows(0, 12), values);
  EXPECT_EQ(F.columns_at(std::vector<Index>{4, 0, 4}),
            values(Eigen::all, std::vector<Index>{4, 0, 4}));
  EXPECT_EQ(F.rows_at(std::vector<Index>{11, 2}),
            values(std::vector<Index>{11, 2}, Eigen::all).transpose());
  const Matrix X = test::random_matrix(5, 3);
  const Matrix Y = test::random_matrix(12, 3);
  EXPECT_CLOSE(F.apply(X), values * X, 1e-14);
  EXPECT_CLOSE(F.apply_transpose(Y), values.transpose() * Y, 1e-14);
}

TEST(PlacedMatrix, ProductsAreThoseOfTheHost) {
  const auto [here, there] = low_rank();
  EXPECT_EQ(there.storage().bytes, here.storage().bytes);
  EXPECT_FALSE(there.memory_space()->on_host());
  const Matrix X = test::random_matrix(20, 3);
  const Matrix Y = test::random_matrix(30, 3);
  EXPECT_CLOSE(there.apply(X), here.apply(X), 1e-14);
  EXPECT_CLOSE(there.apply_transpose(Y), here.apply_transpose(Y), 1e-14);
  EXPECT_CLOSE(in_place(there, false, X), here.apply(X), 1e-14);
  EXPECT_CLOSE(in_place(there, true, Y), here.apply_transpose(Y), 1e-14);
  EXPECT_CLOSE(test::dense_of(there), test::dense_of(here), 1e-14);
  const std::vector<Index> I{29, 0, 7};
  EXPECT_CLOSE(there.rows_at(I), here.rows_at(I), 1e-14);
  EXPECT_CLOSE(Matrix(there.diagonal()), Matrix(here.diagonal()), 1e-14);
}

TEST(PlacedMatrix, SymmetrizedAndMirroredProducts) {
  const Matrix U = test::random_matrix(20, 4);
  const Matrix V = test::random_matrix(20, 4, 2);
  const Matrix X = test::random_matrix(20, 3, 3);
  const FactorProduct half({placed("U", U), placed("V", V, true)}, true);
  const Matrix expected = 0.5 * (U * V.transpose() + V * U.transpose());
  EXPECT_CLOSE(half.apply(X), expected * X, 1e-13);
  EXPECT_CLOSE(in_place(half, false, X), expected * X, 1e-13);
  const Factor first = placed("U", U);
  const FactorProduct mirrored({first, {"U", first.value, true}});
  EXPECT_EQ(mirrored.known_facts().symmetric, true);
  EXPECT_EQ(mirrored.storage().numbers, 80);
  EXPECT_CLOSE(in_place(mirrored, true, X), U * U.transpose() * X, 1e-13);
  // A tall factor of the host after a placed one: the product is copied to the host and back.
  const FactorProduct mixed({make_factor("D", Vector(Vector::LinSpaced(20, 1, 2))), first});
  const Matrix small = test::random_matrix(4, 3);
  EXPECT_CLOSE(mixed.apply(small), Vector::LinSpaced(20, 1, 2).asDiagonal() * (U * small), 1e-13);
  EXPECT_CLOSE(
      in_place(mixed, false, small), Vector::LinSpaced(20, 1, 2).asDiagonal() * (U * small), 1e-13);
}

TEST(PlacedMatrix, IsSavedRoundedAndPackedAsOnTheHost) {
  const auto [here, there] = low_rank();
  const auto saved = [](const FactorProduct& product, Precision precision) {
    const std::string path = test::temporary_dir() + "/a.h5";
    save(
        path, Approximation(round_factors(product.factors(), precision), {}, false, precision), {});
    return load_approximation(path).approximation;
  };
  for (const Precision precision : {Precision::kDouble, Precision::kFloat}) {
    EXPECT_SAME_BITS(test::dense_of(saved(there, precision)),
                     test::dense_of(saved(here, precision)));
  }
  const PackingLimit limit{.bytes = 400};
  EXPECT_SAME_BITS(test::dense_of(FactorProduct(pack_low_rank(there, limit).factors)),
                   test::dense_of(FactorProduct(pack_low_rank(here, limit).factors)));
}

TEST(PlacedMatrix, RefusesTwoMemoriesInOneProduct) {
  const Matrix U = test::random_matrix(5, 2);
  const Factor other = make_factor("V", PlacedMatrix(MultiVector(test::host_gpu_space(), U)), true);
  EXPECT_REFUSED(
      InvalidArgument, FactorProduct({placed("U", U), other}), "not in the memory space");
}

}  // namespace
}  // namespace matapprox
