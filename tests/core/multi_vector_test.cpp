#include "matapprox/core/multi_vector.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "matapprox/core/error.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/lazy.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

namespace matapprox {
namespace {

using Space = std::shared_ptr<const MemorySpace>;

struct Case {
  const char* name;
  Space (*space)();
};

class MultiVectorAt : public testing::TestWithParam<Case> {
 protected:
  Space space() const { return GetParam().space(); }
};

INSTANTIATE_TEST_SUITE_P(
    Places,
    MultiVectorAt,
    testing::Values(Case{"Host", [] { return host_space(); }},
                    Case{"GPU", [] { return test::host_gpu_space(); }},
                    Case{"GpuBackwards",
                         [] { return test::host_gpu_space(cuda::HostOrder::kBackward); }}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(MultiVectorAt, GivesBackWhatWasWritten) {
  const Matrix X = test::random_matrix(37, 5);
  MultiVector block(space(), X.middleRows(1, 35));  // columns with gaps
  EXPECT_EQ(to_host(block.columns()), X.middleRows(1, 35));
  EXPECT_EQ(to_host(block.columns(2, 3)), X.block(1, 2, 35, 3));
  copy(block.columns(0, 1), block.columns(4, 1));
  EXPECT_EQ(to_host(block.columns(4, 1)), X.block(1, 0, 35, 1));
  block.space()->zero(block.data() + 35, 35);
  EXPECT_EQ(to_host(block.columns(1, 1)), Matrix::Zero(35, 1));
}

TEST_P(MultiVectorAt, ProductsAreThoseOfMatrices) {
  // Longer than one block of the host's sums and one part of the GPU's.
  for (const Index n : {1, 3, 37, 1000, 70001}) {
    const Matrix A = test::random_matrix(n, 3);
    const Matrix B = test::random_matrix(n, 4, 2);
    const Matrix S = test::random_matrix(3, 4, 3);
    const MultiVector a(space(), A);
    MultiVector b(a.space(), B);
    EXPECT_TRUE(test::within(transpose_product(a.columns(), b.columns()),
                             Matrix(A.transpose() * B),
                             2 * test::rounding(n) * A.norm() * B.norm()));
    EXPECT_TRUE(test::within(product_to_host(a.columns(), S),
                             Matrix(A * S),
                             2 * test::rounding(3) * A.norm() * S.norm()));
    add_product(-2.0, a.columns(), S, 0.5, b.columns());
    EXPECT_TRUE(test::within(to_host(b.columns()),
                             Matrix(-2.0 * A * S + 0.5 * B),
                             2 * test::rounding(6) * (2 * A.norm() * S.norm() + B.norm() / 2)));
    const Vector norms = A.colwise().norm().transpose();
    EXPECT_TRUE(
        test::within(Matrix(column_norms(a.columns())), Matrix(norms), 1e-14 * norms.norm()));
  }
}

// Bit for bit, for any first column and any memory space of the block.
TEST_P(MultiVectorAt, RandomNumbersAreThoseOfTheirPlaces) {
  for (const Index first : {Index{0}, Index{3}, Index{1} << 40}) {
    for (const Index cols : {1, 2, 5}) {
      Matrix wanted(1001, cols);
      fill_normal(7, RandomStream::kCoSketch, wanted, 0, first);
      const MultiVector block =
          random_normal_block(space(), 7, RandomStream::kCoSketch, 1001, cols, first);
      EXPECT_EQ(to_host(block.columns()), wanted) << cols << " columns from " << first;
    }
  }
  EXPECT_EQ(random_normal_block(space(), 7, RandomStream::kSketch, 4, 0).size(), 0);
}

TEST_P(MultiVectorAt, BetaOfZeroDoesNotReadTheResult) {
  const Matrix A = test::random_matrix(50, 3);
  const Matrix S = test::random_matrix(3, 2, 2);
  const MultiVector a(space(), A);
  MultiVector y(a.space(), Matrix::Constant(50, 2, std::numeric_limits<double>::quiet_NaN()));
  add_product(1.0, a.columns(), S, 0.0, y.columns());
  EXPECT_TRUE(test::within(to_host(y.columns()), Matrix(A * S), 1e-14));
}

TEST_P(MultiVectorAt, TheLargestEntryAndWhatIsNotFinite) {
  Matrix X = test::random_matrix(20000, 2);
  X(19999, 1) = -7.5;
  const auto largest = [&](const Matrix& A) {
    const MultiVector block(space(), A);
    return block.space()->largest(block.data(), block.size());
  };
  EXPECT_EQ(largest(X), 7.5);
  EXPECT_EQ(largest(Matrix::Zero(3, 1)), 0.0);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()}) {
    for (const Index row : {0, 8191, 19999}) {
      Matrix Y = X;
      Y(row, 0) = bad;
      EXPECT_FALSE(std::isfinite(largest(Y))) << bad << " in row " << row;
    }
  }
  MultiVector block(space(), X);
  block.space()->scale(block.data(), block.size(), -0.25);
  EXPECT_EQ(to_host(block.columns()), -0.25 * X);
}

TEST(MultiVector, AnOperatorKeepsBlocksWhereItIs) {
  const Matrix A = test::random_matrix(40, 30);
  const Matrix X = test::random_matrix(30, 3, 2);
  const Matrix Y = test::random_matrix(40, 3, 3);
  const auto dense = std::make_shared<const DenseOperator>(A);
  for (const auto& matrix : {std::shared_ptr<const LinearOperator>(dense),
                             test::placed_on_host(dense),
                             test::placed_on_host(dense, cuda::HostOrder::kForward, 100)}) {
    const CountedOperator counted(*matrix);
    const auto turned = transpose(matrix);
    const MultiVector x(matrix->memory_space(), X);
    const MultiVector y(matrix->memory_space(), Y);
    const MultiVector Ax = counted.apply(x.columns());
    EXPECT_EQ(Ax.space(), matrix->memory_space());
    EXPECT_CLOSE(to_host(Ax.columns()), Matrix(A * X), 1e-14);
    EXPECT_CLOSE(
        to_host(counted.apply_transpose(y.columns()).columns()), Matrix(A.transpose() * Y), 1e-14);
    EXPECT_EQ(counted.passes(), 2);
    EXPECT_CLOSE(to_host(turned->apply(y.columns()).columns()), Matrix(A.transpose() * Y), 1e-14);
    EXPECT_CLOSE(to_host(turned->apply_transpose(x.columns()).columns()), Matrix(A * X), 1e-14);
    EXPECT_THROW(counted.apply(y.columns()), InvalidArgument);
    const MultiVector elsewhere(test::host_gpu_space(), X);
    EXPECT_THROW(counted.apply(elsewhere.columns()), InvalidArgument);
  }
}

}  // namespace
}  // namespace matapprox
