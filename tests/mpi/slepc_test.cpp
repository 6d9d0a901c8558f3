#include <gtest/gtest.h>

#include <vector>

#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/mpi/petsc.hpp"
#include "mpi/petsc_values.hpp"
#include "slepc_svd.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::mpi {
namespace {

/// Compares our singular values of a PETSc matrix with SLEPc's, each computed on all processes.
void expect_the_values_of_slepc(const SparseMatrix& values) {
  constexpr Index kRank = 6;
  Mat A = test::petsc_matrix(values, MATAIJ);
  std::vector<double> found;
  run(A, [&](const LinearOperator& matrix) {
    const TruncatedSvdOptions options{
        .rank = kRank, .algorithm = SvdAlgorithm::kKrylov, .tolerance = 1e-13};
    const auto svd = truncated_svd(matrix, options);
    const auto& S = std::get<Vector>(*svd.factors()[1].value);
    found.assign(S.begin(), S.end());
  });
  const SlepcSvd wanted = slepc_svd(A, kRank, 1e-13);
  MatDestroy(&A);
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  if (rank != 0) return;  // the results are on the first process
  ASSERT_EQ(std::ssize(found), kRank);
  ASSERT_GE(std::ssize(wanted.values), kRank);
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], wanted.values[i], 1e-12 * wanted.values[0]) << i;
}

TEST(Together, SingularValuesAreThoseOfTrlanczos) {
  if (!slepc_is_available()) GTEST_SKIP() << "a build without SLEPc (libslepc64-real-dev)";
  expect_the_values_of_slepc(matapprox::test::random_sparse(300, 200, 7));
  expect_the_values_of_slepc(matapprox::test::grid_laplacian(25));
}

}  // namespace
}  // namespace matapprox::mpi
