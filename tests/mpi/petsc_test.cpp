#include "matapprox/mpi/petsc.hpp"

#include <gtest/gtest.h>

#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

// All processes run these tests together (--together): a failure may be on any of them.
namespace matapprox::mpi {
namespace {

/// A of PETSc's, as PETSc deals its rows; every process has all of `values`.
Mat petsc(const SparseMatrix& values, MatType type) {
  Mat A = nullptr;
  MatCreate(PETSC_COMM_WORLD, &A);
  MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, values.rows(), values.cols());
  MatSetType(A, type);
  MatSetUp(A);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(A, &first, &last);
  MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE);
  for (PetscInt i = first; i < last; ++i) {
    for (SparseMatrix::InnerIterator entry(values, i); entry; ++entry)
      MatSetValue(A, i, entry.col(), entry.value(), INSERT_VALUES);
  }
  MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY);
  return A;
}

void products_are_those_of_one_process(MatType type, const SparseMatrix& values) {
  Mat A = petsc(values, type);
  run(A, [&](const LinearOperator& matrix) {
    const SparseOperator whole(values);
    ASSERT_EQ(matrix.rows(), whole.rows());
    ASSERT_EQ(matrix.cols(), whole.cols());
    const Matrix X = matapprox::test::random_matrix(whole.cols(), 5);
    const Matrix Y = matapprox::test::random_matrix(whole.rows(), 5, 2);
    if (std::string(type) == MATAIJ) {
      EXPECT_SAME_BITS(matrix.apply(X), whole.apply(X));
      EXPECT_SAME_BITS(matrix.apply_transpose(Y), whole.apply_transpose(Y));
      EXPECT_NEAR(*matrix.known_facts().frobenius_norm, values.norm(), 1e-13 * values.norm());
      EXPECT_EQ(matrix.cost().stored_numbers, values.nonZeros());
    } else {
      EXPECT_CLOSE(matrix.apply(X), whole.apply(X), 1e-14);
      EXPECT_CLOSE(matrix.apply_transpose(Y), whole.apply_transpose(Y), 1e-14);
    }
    EXPECT_CLOSE(
        matrix.columns_at(std::vector<Index>{3, 0}), whole.columns_at(std::vector<Index>{3, 0}), 0);
    const TruncatedSvdOptions options{.rank = 4, .algorithm = SvdAlgorithm::kKrylov};
    const auto values_of = [&](const LinearOperator& of) {
      return Matrix(std::get<Vector>(*truncated_svd(of, options).factors()[1].value));
    };
    EXPECT_CLOSE(values_of(matrix), values_of(whole), 1e-12);
  });
  MatDestroy(&A);
}

TEST(Together, AnExceptionOfTheBodyIsTheFirstProcesss) {
  Mat A = petsc(matapprox::test::random_sparse(20, 20, 3), MATAIJ);
  bool thrown = false;
  try {
    run(A,
        [](const LinearOperator& matrix) { static_cast<void>(matrix.apply(Matrix::Zero(3, 1))); });
  } catch (const InvalidArgument&) {
    thrown = true;
  }
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  EXPECT_EQ(thrown, rank == 0) << "on process " << rank;
  MatDestroy(&A);
}

TEST(Together, ProductsOfPetscsMatricesAreThoseOfOneProcess) {
  for (const MatType type : {MATAIJ, MATBAIJ, MATDENSE}) {
    products_are_those_of_one_process(type, matapprox::test::random_sparse(130, 90, 5));
    products_are_those_of_one_process(type, matapprox::test::random_sparse(80, 80, 4, 2));
  }
}

}  // namespace
}  // namespace matapprox::mpi
