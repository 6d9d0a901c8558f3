#include "mpi/dense_rows.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "matapprox/core/run_control.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/lazy.hpp"
#include "mpi/processes.hpp"
#include "mpi/row_exchange.hpp"
#include "mpi/spread_operator.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"

namespace matapprox::mpi {
namespace {

template <class Operator>
void expect_products_of(const std::shared_ptr<const Operator>& A, Index columns) {
  SCOPED_TRACE(A->description());
  const SpreadOperator spread(test::leader(), A);
  const Matrix X = matapprox::test::random_matrix(A->cols(), columns);
  const Matrix Y = matapprox::test::random_matrix(A->rows(), columns, 2);
  const Matrix product = spread.apply(X);
  const Matrix transposed = spread.apply_transpose(Y);
  EXPECT_CLOSE(product, A->apply(X), 1e-14);
  EXPECT_CLOSE(transposed, A->apply_transpose(Y), 1e-14);
  // The sums have the same order each time.
  EXPECT_SAME_BITS(spread.apply(X), product);
  EXPECT_SAME_BITS(spread.apply_transpose(Y), transposed);
  if (test::processes() == 1) {
    EXPECT_SAME_BITS(product, A->apply(X));
    EXPECT_SAME_BITS(transposed, A->apply_transpose(Y));
  }
  EXPECT_EQ(spread.diagonal(), A->diagonal());
  EXPECT_EQ(spread.columns_at(std::vector<Index>{1, 0}), A->columns_at(std::vector<Index>{1, 0}));
  EXPECT_EQ(&spread.underlying(), A.get());
}

std::shared_ptr<const DenseOperator> dense(Matrix values) {
  return std::make_shared<const DenseOperator>(std::move(values));
}

std::shared_ptr<const CovarianceOperator> covariance(Index samples, Index variables, bool scaled) {
  return std::make_shared<const CovarianceOperator>(
      matapprox::test::random_matrix(samples, variables), scaled);
}

TEST(DenseRows, ProductsAreThoseOfOneProcess) {
  using matapprox::test::random_matrix;
  for (const auto& A : {dense(random_matrix(300, 170)),
                        dense(random_matrix(170, 300)),
                        dense(matapprox::test::with_eigenvalues(Vector::LinSpaced(60, 1, 2))),
                        dense(random_matrix(3, 40)),
                        dense(random_matrix(40, 2))}) {
    for (const Index columns : {1, 20}) expect_products_of(A, columns);
  }
}

// Panels of rows of X begin within the rows of one process and end in those of another.
TEST(DenseRows, BlocksComeByInPanels) {
  const Index columns = 300;
  const auto A = dense(matapprox::test::random_matrix(700, 1300));
  ASSERT_LT(2 * panel_rows(columns), A->cols());
  expect_products_of(A, columns);
  expect_products_of(dense(matapprox::test::random_matrix(1300, 700)), columns);
}

TEST(DenseRows, CovariancesOfSamples) {
  for (const bool scaled : {false, true}) {
    expect_products_of(covariance(300, 40, scaled), 5);
    expect_products_of(covariance(20, 150, scaled), 1);
    expect_products_of(covariance(2, 3, scaled), 2);
    expect_products_of(covariance(60, 60, scaled), 3);
  }
}

TEST(DenseRows, MethodsFindTheSame) {
  const auto A = dense(matapprox::test::with_singular_values(
      150, 120, matapprox::test::geometric_spectrum(120, 1.2)));
  const SpreadOperator spread(test::leader(), A);
  const auto svd_of = [](const LinearOperator& matrix) {
    const auto svd = truncated_svd(matrix, {.rank = 8, .algorithm = SvdAlgorithm::kKrylov});
    return Matrix(std::get<Vector>(*svd.factors()[1].value));
  };
  EXPECT_CLOSE(svd_of(spread), svd_of(*A), 1e-12);
  const auto B = dense(matapprox::test::random_matrix(120, 120));
  const SpreadOperator square(test::leader(), B);
  const NystromOptions options{.rank = 10, .form = NystromForm::kGeneralized};
  const Matrix X = matapprox::test::random_matrix(120, 2);
  EXPECT_CLOSE(nystrom(square, options).apply(X), nystrom(*B, options).apply(X), 1e-11);
}

// More numbers than fit in a message; each process gets sums of its own.
TEST(Together, SumsGoToAnyProcess) {
  const Process process(MPI_COMM_WORLD);
  const Index count = (Index{1} << 18) + 5;
  for (int p = 0; p < process.size(); ++p) {
    std::vector<double> numbers(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i)
      numbers[static_cast<std::size_t>(i)] = static_cast<double>((process.rank() + 1) * i);
    process.sum_to(p, numbers.data(), count);
    if (p != process.rank()) continue;
    const int sum = process.size() * (process.size() + 1) / 2;
    for (Index i = 0; i < count; ++i)
      ASSERT_EQ(numbers[static_cast<std::size_t>(i)], static_cast<double>(sum * i));
  }
}

TEST(DenseRows, ProductsAreStoppedAmongTheirPanels) {
  if (test::processes() == 1) GTEST_SKIP() << "one process multiplies in one piece";
  const auto A = dense(matapprox::test::random_matrix(1000, 3000));
  const SpreadOperator spread(test::leader(), A);
  const MultiVector X(spread.memory_space(), matapprox::test::random_matrix(3000, 200));
  const MultiVector Y(spread.memory_space(), matapprox::test::random_matrix(1000, 200));
  MultiVector result(spread.memory_space(), 1000, 200);
  MultiVector result_of_transpose(spread.memory_space(), 3000, 200);
  const auto stopped = [&](const auto& product) {
    RunControl control;
    control.max_seconds = 1e-3;  // during the product, which takes many times as long
    const StopScope scope(control, "test");
    EXPECT_REFUSED(Interrupted, product(), "test");
  };
  stopped([&] { spread.apply(X.columns(), result.columns()); });
  stopped([&] { spread.apply_transpose(Y.columns(), result_of_transpose.columns()); });
  EXPECT_CLOSE(to_host(spread.apply(X.columns()).columns()), A->apply(to_host(X.columns())), 1e-14);
}

TEST(DenseRows, KindsThatAreDealt) {
  const auto A = dense(matapprox::test::random_matrix(20, 10));
  const auto C = covariance(20, 5, false);
  EXPECT_NE(spread(test::leader(), A), nullptr);
  EXPECT_NE(spread(test::leader(), C), nullptr);
  EXPECT_EQ(spread(test::leader(), transpose(A)), nullptr);
}

}  // namespace
}  // namespace matapprox::mpi
