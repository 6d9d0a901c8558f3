#include <gtest/gtest.h>

#include "device/cuda/kernels/kernel_formula.hpp"
#include "matapprox/operators/kernel.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

// The GPU kernels, run on the host, against the operator of the CPU.
namespace matapprox::test {
namespace {

constexpr std::size_t kKernelKinds = EnumNames<KernelFunction>::values.size();

/// Random points, two of which are equal and one is 0.
Matrix points_for_tiles(Index count, Index dimension) {
  Matrix P = random_matrix(count, dimension, 31);
  P.row(count - 1) = P.row(0);
  if (count > 2) P.row(count / 2).setZero();
  return P;
}

std::shared_ptr<const KernelOperator> kernel_operator(std::size_t kind,
                                                      Index count,
                                                      Index dimension) {
  return std::make_shared<KernelOperator>(
      points_for_tiles(count, dimension),
      KernelOptions{static_cast<KernelFunction>(kind), 1.3, 7, -0.25});
}

TEST(KernelTiles, FunctionsHaveTheOrderOfTheOptions) {
  EXPECT_EQ(static_cast<int>(cuda::KernelKind::kGaussian),
            static_cast<int>(KernelFunction::kGaussian));
  EXPECT_EQ(static_cast<int>(cuda::KernelKind::kMatern52),
            static_cast<int>(KernelFunction::kMatern52));
  EXPECT_EQ(static_cast<int>(cuda::KernelKind::kCosine), static_cast<int>(KernelFunction::kCosine));
}

TEST(KernelTiles, ProductsAgreeWithTheCpu) {
  for (std::size_t kind = 0; kind < kKernelKinds; ++kind) {
    for (const Index count : {1, 2, 3, 37, 300}) {
      for (const Index dimension : {1, 8, 21}) {
        const auto A = kernel_operator(kind, count, dimension);
        const Matrix X = random_matrix(count, 35, 32);
        for (const Index columns : {1, 4, 35}) {
          EXPECT_CLOSE(
              placed_on_host(A)->apply(X.leftCols(columns)), A->apply(X.leftCols(columns)), 1e-12)
              << enum_name(A->options().function) << ", " << count << " points in " << dimension;
        }
      }
    }
  }
}

TEST(KernelTiles, ColumnsAreSymmetricWithAnExactDiagonal) {
  const Index n = 70;
  for (std::size_t kind = 0; kind < kKernelKinds; ++kind) {
    const auto A = kernel_operator(kind, n, 5);
    const Matrix K = placed_on_host(A)->columns_at(index_range(0, n));
    EXPECT_CLOSE(K, A->columns_at(index_range(0, n)), 1e-12) << enum_name(A->options().function);
    EXPECT_SAME_BITS(K, Matrix(K.transpose())) << enum_name(A->options().function);
    const Vector diagonal = A->diagonal();
    for (Index i = 0; i < n; ++i) {
      const bool is_one = diagonal(i) == 1;
      EXPECT_TRUE(!is_one || K(i, i) == 1) << enum_name(A->options().function) << ", " << i;
    }
  }
}

/// Distances at which the exponential is 0 or its argument overflows.
TEST(KernelTiles, FarPointsAreZeroNotNaN) {
  Matrix P(3, 1);
  P << 0, 1e160, -1e160;
  for (const KernelFunction function : {KernelFunction::kGaussian,
                                        KernelFunction::kLaplacian,
                                        KernelFunction::kMatern32,
                                        KernelFunction::kMatern52}) {
    const auto A = std::make_shared<KernelOperator>(P, KernelOptions{function, 1.0, 3, 1});
    EXPECT_SAME_BITS(placed_on_host(A)->columns_at(index_range(0, 3)), Matrix::Identity(3, 3))
        << enum_name(function);
  }
}

}  // namespace
}  // namespace matapprox::test
