#include "matapprox/mpi/petsc.hpp"

#include <gtest/gtest.h>

#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/sparse.hpp"
#include "mpi/petsc_values.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

// All processes run these tests together (--together): any of them may fail.
namespace matapprox::mpi {
namespace {

void products_are_those_of_one_process(MatType type, const SparseMatrix& values) {
  Mat A = test::petsc_matrix(values, type);
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
  Mat A = test::petsc_matrix(matapprox::test::random_sparse(20, 20, 3), MATAIJ);
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

/// A dense PETSc matrix with the row distribution of A's rows or columns; every process has all
/// `values`.
Mat dense_of(Mat A, bool rows_of_A, const Matrix& values) {
  PetscInt own_rows = 0;
  PetscInt own_cols = 0;
  MatGetLocalSize(A, &own_rows, &own_cols);
  Mat X = nullptr;
  MatCreateDense(PETSC_COMM_WORLD,
                 rows_of_A ? own_rows : own_cols,
                 PETSC_DECIDE,
                 PETSC_DETERMINE,
                 values.cols(),
                 nullptr,
                 &X);
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(X, &first, &last);
  for (PetscInt i = first; i < last; ++i) {
    for (Index c = 0; c < values.cols(); ++c) MatSetValue(X, i, c, values(i, c), INSERT_VALUES);
  }
  MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY);
  MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY);
  return X;
}

void expect_rows(Mat found, const Matrix& wanted) {
  PetscInt first = 0;
  PetscInt last = 0;
  MatGetOwnershipRange(found, &first, &last);
  for (PetscInt i = first; i < last; ++i) {
    for (PetscInt c = 0; c < wanted.cols(); ++c) {
      PetscScalar value = 0;
      MatGetValues(found, 1, &i, 1, &c, &value);
      EXPECT_NEAR(value, wanted(i, c), 1e-11 * wanted.norm()) << i << ", " << c;
    }
  }
}

/// Checks that the PETSc matrix B multiplies blocks and vectors as `wanted` does.
void expect_products(Mat A, Mat B, const Matrix& wanted) {
  for (const bool transposed : {false, true}) {
    const Matrix all = transposed ? Matrix(wanted.transpose()) : wanted;
    const Matrix numbers = matapprox::test::random_matrix(all.cols(), 3);
    Mat X = dense_of(A, transposed, numbers);
    Mat Y = nullptr;
    const auto product = transposed ? MatTransposeMatMult : MatMatMult;
    ASSERT_EQ(product(B, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &Y), 0);
    expect_rows(Y, all * numbers);
    Vec x = nullptr;
    Vec y = nullptr;
    Mat column = dense_of(A, !transposed, Matrix::Zero(all.rows(), 1));
    MatDenseGetColumnVecRead(X, 1, &x);
    MatDenseGetColumnVecWrite(column, 0, &y);
    ASSERT_EQ(transposed ? MatMultTranspose(B, x, y) : MatMult(B, x, y), 0);
    MatDenseRestoreColumnVecWrite(column, 0, &y);
    MatDenseRestoreColumnVecRead(X, 1, &x);
    expect_rows(column, all * numbers.col(1));
    for (Mat* matrix : {&X, &Y, &column}) MatDestroy(matrix);
  }
}

// Factors on all processes, and on the first only.
TEST(Together, AnApproximationIsAMatrixOfPetscs) {
  const std::vector<std::function<Approximation(const LinearOperator&)>> fits{
      [](const LinearOperator& A) {
        return truncated_svd(A, {.rank = 6, .algorithm = SvdAlgorithm::kKrylov});
      },
      [](const LinearOperator& A) { return cur(A, {.rank = 6}); },
      [](const LinearOperator& A) { return jl_projection(A, {.rank = 6}); }};
  for (const auto& values :
       {matapprox::test::random_sparse(130, 90, 5), matapprox::test::random_sparse(80, 80, 4, 2)}) {
    const SparseOperator whole(values);
    for (const auto& fit : fits) {
      Mat A = test::petsc_matrix(values, MATAIJ);
      Mat B = to_petsc(A, fit);
      const Approximation wanted = fit(whole);
      expect_products(A, B, wanted.columns_at(index_range(0, wanted.cols())));
      MatDestroy(&A);
      expect_products(B, B, wanted.columns_at(index_range(0, wanted.cols())));
      MatDestroy(&B);
    }
  }
}

// The copy shares the factors of the original; they are released with the last of the two.
TEST(Together, AnApproximationMayBeDuplicated) {
  const SparseMatrix values = matapprox::test::random_sparse(80, 80, 4, 2);
  const auto fit = [](const LinearOperator& A) { return jl_projection(A, {.rank = 6}); };
  Mat A = test::petsc_matrix(values, MATAIJ);
  Mat B = to_petsc(A, fit);
  Mat copy = nullptr;
  ASSERT_EQ(MatDuplicate(B, MAT_COPY_VALUES, &copy), 0);
  MatDestroy(&B);
  const Approximation wanted = fit(SparseOperator(values));
  expect_products(A, copy, wanted.columns_at(index_range(0, wanted.cols())));
  MatDestroy(&copy);
  MatDestroy(&A);
}

TEST(Together, AFitThatFailsFailsOnAll) {
  Mat A = test::petsc_matrix(matapprox::test::random_sparse(20, 20, 3), MATAIJ);
  int rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  const auto fails = [](const LinearOperator& matrix) { return cur(matrix, {.rank = 21}); };
  if (rank == 0) {
    EXPECT_REFUSED(InvalidArgument, to_petsc(A, fails), "21");
  } else {
    EXPECT_REFUSED(NotAvailable, to_petsc(A, fails), "21");
  }
  MatDestroy(&A);
}

}  // namespace
}  // namespace matapprox::mpi
