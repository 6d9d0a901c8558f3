#include "methods/block_basis.hpp"

#include <gtest/gtest.h>

#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

namespace matapprox {
namespace {

using Space = std::shared_ptr<const MemorySpace>;

/// The memory of the CPU, and that of a GPU by GPU code run on the host.
class BlockBasisAt : public testing::TestWithParam<bool> {
 protected:
  Space space() const { return GetParam() ? test::host_gpu_space() : host_space(); }
  static Matrix appended(BlockBasis& basis, const Space& space, const Matrix& Y) {
    return basis.append(MultiVector(space, Y));
  }
};

INSTANTIATE_TEST_SUITE_P(Places, BlockBasisAt, testing::Bool(), [](const auto& tested) {
  return tested.param ? "GPU" : "Host";
});

void expect_orthonormal(const BlockBasis& basis) {
  const Matrix Q = to_host(basis.columns());
  EXPECT_TRUE(
      test::within(Q.transpose() * Q, Matrix::Identity(Q.cols(), Q.cols()), 1e-14 * Q.cols()));
}

TEST_P(BlockBasisAt, CoefficientsGiveTheBlockBack) {
  const Space at = space();
  BlockBasis basis(at, 200, 60, 1, RandomStream::kSketch);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Matrix Y = test::random_matrix(200, 10, seed);
    const Matrix C = appended(basis, at, Y);
    EXPECT_CLOSE(Matrix(to_host(basis.columns()) * C), Y, 1e-14);
    expect_orthonormal(basis);
  }
  EXPECT_EQ(basis.size(), 30);
}

TEST_P(BlockBasisAt, IsSavedAndLoaded) {
  const Space at = space();
  BlockBasis basis(at, 50, 20, 1, RandomStream::kSketch);
  appended(basis, at, Matrix::Ones(50, 3));  // two directions are replaced by random ones
  ResumeState state;
  basis.save("basis", state);
  BlockBasis other(at, 50, 20, 1, RandomStream::kSketch);
  other.load("basis", state);
  for (BlockBasis* each : {&basis, &other}) appended(*each, at, Matrix::Ones(50, 2));
  EXPECT_SAME_BITS(to_host(other.columns()), to_host(basis.columns()));
  BlockBasis longer(at, 51, 20, 1, RandomStream::kSketch);
  EXPECT_REFUSED(InvalidArgument, longer.load("basis", state), "does not match this basis");
  BlockBasis narrow(at, 50, 2, 1, RandomStream::kSketch);
  EXPECT_REFUSED(InvalidArgument, narrow.load("basis", state), "does not match this basis");
}

TEST_P(BlockBasisAt, DependentZeroAndNearlyDependentColumns) {
  const Space at = space();
  BlockBasis basis(at, 100, 60, 1, RandomStream::kSketch);
  const Matrix first = test::random_matrix(100, 5);
  appended(basis, at, first);
  Matrix Y = test::random_matrix(100, 6, 2);
  Y.col(1).setZero();
  Y.col(2) = Y.col(0);                        // dependent within the block
  Y.col(3) = first.col(2);                    // inside the span
  Y.col(4) = Y.col(5) + 1e-9 * first.col(0);  // nearly dependent
  Y.col(5) *= 1e100;
  const Matrix C = appended(basis, at, Y);
  EXPECT_EQ(basis.size(), 11);
  expect_orthonormal(basis);
  for (Index c = 0; c < 6; ++c) {
    EXPECT_TRUE(test::within(
        Matrix(to_host(basis.columns()) * C.col(c)), Matrix(Y.col(c)), 1e-14 * Y.col(c).norm()))
        << c;
  }
}

TEST_P(BlockBasisAt, FillsTheSpaceAndNoMore) {
  const Space at = space();
  BlockBasis basis(at, 7, 20, 1, RandomStream::kSketch);
  appended(basis, at, test::random_matrix(7, 5));
  const Matrix Y = test::random_matrix(7, 5, 2);
  const Matrix C = appended(basis, at, Y);
  EXPECT_EQ(basis.size(), 7);
  expect_orthonormal(basis);
  EXPECT_CLOSE(Matrix(to_host(basis.columns()) * C), Y, 1e-13);
  EXPECT_EQ(appended(basis, at, Y).rows(), 7);
}

}  // namespace
}  // namespace matapprox
