#include "matapprox/device/placement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/gpu_factors.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/factors/factor_product.hpp"
#include "matapprox/methods/cur.hpp"
#include "matapprox/methods/jl_projection.hpp"
#include "matapprox/methods/nystrom.hpp"
#include "matapprox/methods/truncated_svd.hpp"
#include "matapprox/operators/covariance.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/lazy.hpp"
#include "matapprox/operators/sparse.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/operator_list.hpp"
#include "support/played_gpu.hpp"
#include "support/sanitizers.hpp"

namespace matapprox::test {
namespace {

using OperatorPointer = std::shared_ptr<const LinearOperator>;
using Placer = std::function<OperatorPointer(const OperatorPointer&)>;

constexpr double kPlacedTolerance = 1e-12;

/// Compares products, columns and rows of the placed operator with the dense matrix that it
/// represents.
void expect_same_operator(const OperatorCase& example, const Placer& placer) {
  SCOPED_TRACE(example.name);
  const OperatorPointer A = placer(example.op);
  const Matrix& wanted = example.expected;
  for (const Index columns : {1, 3, 40}) {
    const Matrix X = random_matrix(A->cols(), columns, 2);
    EXPECT_CLOSE(A->apply(X), wanted * X, kPlacedTolerance);
    const Matrix Y = random_matrix(A->rows(), columns, 3);
    EXPECT_CLOSE(A->apply_transpose(Y), wanted.transpose() * Y, kPlacedTolerance);
  }
  // Blocks with gaps between the columns.
  const Matrix wide = random_matrix(A->cols() + 5, 4, 4);
  EXPECT_CLOSE(
      A->apply(wide.topRows(A->cols())), wanted * wide.topRows(A->cols()), kPlacedTolerance);
  const std::vector<Index> J{A->cols() - 1, 0, A->cols() / 2, 0};
  EXPECT_CLOSE(A->columns_at(J), Matrix(wanted(Eigen::all, J)), kPlacedTolerance);
  const std::vector<Index> I{A->rows() / 3, A->rows() - 1};
  EXPECT_CLOSE(A->rows_at(I), Matrix(wanted(I, Eigen::all).transpose()), kPlacedTolerance);
  EXPECT_CLOSE(A->diagonal(), Vector(wanted.diagonal()), kPlacedTolerance);
  EXPECT_SAME_BITS(A->apply(wide.topRows(A->cols())), A->apply(wide.topRows(A->cols())));
}

void expect_same_operators(const Placer& placer) {
  int placed = 0;
  for (const OperatorMaker& maker : all_operators()) {
    const OperatorCase example = maker.make();
    if (!is_placeable(*example.op)) continue;
    ++placed;
    expect_same_operator(example, placer);
  }
  EXPECT_GE(placed, 17);
}

TEST(Placement, OperatorsAreTheSameOnAHostThatPlaysTheGpu) {
  for (const auto order : {cuda::HostOrder::kForward, cuda::HostOrder::kBackward})
    expect_same_operators([&](const OperatorPointer& A) { return placed_on_host(A, order); });
}

TEST(Placement, FactorsThatShareTheirNumbersKeepTheirPlaces) {
  const Matrix C = random_matrix(30, 4, 1);
  const Matrix T = random_matrix(4, 3, 2);
  const Factor first = make_factor("C", C);
  const Factor second = make_factor("T", T);
  const OperatorPointer A = std::make_shared<FactorProduct>(
      std::vector<Factor>{first, second, {"T", second.value, true}, {"C", first.value, true}});
  const Matrix expected = C * T * T.transpose() * C.transpose();
  expect_same_operator({"shared", A, expected},
                       [](const OperatorPointer& B) { return placed_on_host(B); });
}

TEST(Placement, BlocksGoInPiecesWhereThereIsLittleRoom) {
  for (const OperatorMaker& maker : all_operators()) {
    const OperatorCase example = maker.make();
    if (!is_placeable(*example.op)) continue;
    const Matrix Y = random_matrix(example.expected.cols(), 23, 5);
    const Index longest = std::max(example.expected.rows(), example.expected.cols());
    for (const Index room : {Index{0}, 9 * longest})
      EXPECT_CLOSE(placed_on_host(example.op, cuda::HostOrder::kForward, room)->apply(Y),
                   example.expected * Y,
                   kPlacedTolerance)
          << example.name << ", room " << room;
  }
}

FactorProduct chord_chain(Index n, bool symmetrized) {
  ChordFactors chord{chord_reference_pattern(n), {}};
  const Matrix values = random_matrix(chord.pattern.stored_numbers(), 1, 12);
  chord.values.assign(values.data(), values.data() + values.size());
  const Factor W = make_factor("W", chord);
  // A diagonal beside the chain, and the chain a second time, transposed.
  return FactorProduct({W, make_factor("d", Vector(random_matrix(n, 1, 13))), {"W", W.value, true}},
                       symmetrized);
}

const ChordFactors& chord_of(const FactorProduct& A) {
  return std::get<ChordFactors>(*A.factors().front().value);
}

/// Bytes of the chain, of one of its factors, and of the work space of a column.
struct ChainBytes {
  Index chain;
  Index factor;
  Index column;
  explicit ChainBytes(const ChordPattern& pattern)
      : chain(8 * pattern.stored_numbers()),
        factor(8 * pattern.order * pattern.links(0)),
        column(32 * pattern.order) {}
};

TEST(Placement, ChainsThatTheGpuHasNoRoomForAreStreamed) {
  for (const Index n : {Index{1}, Index{37}, Index{64}}) {
    if (test::kSanitized && n == 64) continue;  // would take minutes
    for (const bool symmetrized : {false, true}) {
      const auto A = std::make_shared<FactorProduct>(chord_chain(n, symmetrized));
      const std::vector<double> before = chord_of(*A).values;
      const OperatorCase example{
          "streamed, N = " + std::to_string(n), A, A->columns_at(index_range(0, n))};
      // Pieces of one row, of fifty numbers and of a sixteenth of the chain.
      constexpr Index kFifty = Index{16} * 8 * 50;
      for (const Index free : {Index{0}, kFifty, ChainBytes(chord_of(*A).pattern).chain}) {
        for (const auto order : {cuda::HostOrder::kForward, cuda::HostOrder::kBackward}) {
          for (const Index room : {9 * n, Index{1} << 20}) {
            expect_same_operator(example, [&](const OperatorPointer& B) {
              return placed_on_host(B, order, room, free);
            });
          }
        }
      }
      EXPECT_EQ(chord_of(*A).values, before);
    }
  }
}

TEST(Placement, StreamedChainsStayWhereTheyAre) {
  const FactorProduct A = chord_chain(100, false);
  const ChainBytes bytes(chord_of(A).pattern);
  const auto link = [&](Index free) {
    return std::get<cuda::HostChord>(gpu_factors(A, free).factors.front().factor);
  };
  // A sixteenth of the memory is reserved. The diagonal takes 800 bytes, and placing a factor needs
  // as much work space as the factor.
  ASSERT_GT(bytes.factor, bytes.column);
  const Index needed = bytes.chain + bytes.factor + 800;
  const Index enough = (16 * needed + 14) / 15;
  EXPECT_EQ(link(enough).piece_numbers, 0);
  EXPECT_EQ(link(enough - 16).piece_numbers, (enough - 16) / 16 / 8);
  EXPECT_EQ(link(enough - 16).values, chord_of(A).values.data());
  EXPECT_EQ(link(0).piece_numbers, 1);
  EXPECT_EQ(gpu_factors(A, enough - 16).factors.back().same_as, 0);

  const GpuWork there = gpu_work(A, 5, enough).value();
  EXPECT_EQ(there.gpu_bytes, bytes.chain + 800);
  EXPECT_EQ(there.host_bytes, 0);
  EXPECT_DOUBLE_EQ(there.streamed, 0);
  const GpuWork here = gpu_work(A, 5, enough - 16).value();
  EXPECT_EQ(here.gpu_bytes, 800);
  EXPECT_EQ(here.host_bytes, bytes.chain);
  EXPECT_DOUBLE_EQ(here.streamed, 2.0 * static_cast<double>(bytes.chain));
  EXPECT_DOUBLE_EQ(gpu_work(chord_chain(100, true), 5, enough - 16).value().streamed,
                   2 * here.streamed);
  // Four fifths of the free memory hold two columns at a time: three panels for five columns.
  const GpuWork narrow = gpu_work(A, 5, 800 + 2 * bytes.column / 4 * 5 + 1).value();
  EXPECT_DOUBLE_EQ(narrow.streamed, 3 * here.streamed);
}

TEST(Placement, SaysThatFactorsAreStreamed) {
  EXPECT_EQ(streaming_note(0), "");
  EXPECT_EQ(streaming_note(Index{87'240'000'000}),
            "the GPU has no room for 87.2 GB of factors: they stay on the host and are streamed at "
            "each product");
}

TEST(Placement, OperatorsAreTheSameOnTheGpu) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why;
  expect_same_operators([](const OperatorPointer& A) { return place(A, Device::kCuda).matrix; });
}

/// cuSPARSE may use a different algorithm for one column. In rows so long that many thread blocks
/// add to one of them, sums without a fixed order would show.
TEST(Placement, OneColumnTimesLongSparseRowsHasTheSameBitsOnTheGpu) {
  if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why;
  const auto A = std::make_shared<SparseOperator>(random_sparse(4, 200000, 50000, 7));
  const OperatorPointer placed = place(A, Device::kCuda).matrix;
  const Matrix x = random_matrix(A->cols(), 1, 2);
  const Matrix y = random_matrix(A->rows(), 1, 3);
  const Matrix first = placed->apply(x);
  const Matrix first_transpose = placed->apply_transpose(y);
  EXPECT_CLOSE(first, A->apply(x), kPlacedTolerance);
  for (int run = 0; run < 20; ++run) {
    EXPECT_SAME_BITS(placed->apply(x), first);
    EXPECT_SAME_BITS(placed->apply_transpose(y), first_transpose);
  }
}

/// The error of a method is the same with and without placement.
TEST(Placement, MethodsRunOnAPlacedMatrix) {
  const OperatorPointer A = std::make_shared<KernelOperator>(
      random_matrix(200, 3, 6),
      KernelOptions{.function = KernelFunction::kGaussian, .bandwidth = 2});
  const OperatorPointer placed = placed_on_host(A);
  const Matrix dense = A->columns_at(index_range(0, 200));
  const auto error = [&](const Approximation& B) {
    return (dense - B.columns_at(index_range(0, 200))).norm() / dense.norm();
  };
  EXPECT_NEAR(error(nystrom(*placed, {.rank = 20})), error(nystrom(*A, {.rank = 20})), 1e-9);
  const NystromOptions kmeans{.rank = 20, .sampling = LandmarkSampling::kKMeans};
  EXPECT_NEAR(error(nystrom(*placed, kmeans)), error(nystrom(*A, kmeans)), 1e-9);
  EXPECT_NEAR(
      error(truncated_svd(*placed, {.rank = 20})), error(truncated_svd(*A, {.rank = 20})), 1e-9);
  EXPECT_NEAR(error(cur(*placed, {.rank = 20})), error(cur(*A, {.rank = 20})), 1e-9);
  EXPECT_NEAR(
      error(jl_projection(*placed, {.rank = 20})), error(jl_projection(*A, {.rank = 20})), 1e-9);
}

/// The bases are in the memory space of the matrix; their span and the results must not depend on
/// it.
TEST(Placement, KrylovSpacesGrowWhereTheMatrixIs) {
  const OperatorPointer general = std::make_shared<DenseOperator>(random_matrix(150, 120, 3));
  const OperatorPointer symmetric = std::make_shared<KernelOperator>(
      random_matrix(140, 2, 6),
      KernelOptions{.function = KernelFunction::kMatern32, .bandwidth = 0.3});
  const std::vector<Index> all = index_range(0, 120);
  for (const OperatorPointer& A : {general, symmetric}) {
    const OperatorPointer placed = placed_on_host(A);
    for (const auto algorithm : {SvdAlgorithm::kKrylov, SvdAlgorithm::kRandomized}) {
      const TruncatedSvdOptions options{.rank = 12, .algorithm = algorithm};
      const CountedOperator counted(*A);
      const CountedOperator counted_gpu(*placed);
      const Approximation wanted = truncated_svd(counted, options);
      const Approximation got = truncated_svd(counted_gpu, options);
      EXPECT_EQ(got.summary.iterations, wanted.summary.iterations);
      EXPECT_EQ(counted_gpu.passes(), counted.passes());
      EXPECT_CLOSE(got.columns_at(all), wanted.columns_at(all), 1e-9);
    }
  }
  const OperatorPointer placed = placed_on_host(symmetric);
  const NystromOptions options{.rank = 20, .form = NystromForm::kGeneralized};
  EXPECT_CLOSE(nystrom(*placed, options).columns_at(all),
               nystrom(*symmetric, options).columns_at(all),
               1e-9);
}

/// The tall matrices of the method are then in the memory space of the kernel: the columns, W and
/// the remaining diagonal must be the same.
TEST(Placement, NystromOfAPlacedKernelTakesTheSameLandmarks) {
  const OperatorPointer A = std::make_shared<KernelOperator>(
      random_matrix(300, 3, 8),
      KernelOptions{.function = KernelFunction::kMatern32, .bandwidth = 2});
  const OperatorPointer placed = placed_on_host(A);
  for (const auto sampling : {LandmarkSampling::kPivotedCholesky,
                              LandmarkSampling::kUniform,
                              LandmarkSampling::kLeverage,
                              LandmarkSampling::kKMeans}) {
    const CountedOperator counted(*A);
    const CountedOperator counted_gpu(*placed);
    const NystromOptions options{.rank = 60, .sampling = sampling};
    const Approximation wanted = nystrom(counted, options);
    const Approximation got = nystrom(counted_gpu, options);
    EXPECT_EQ(got.summary.iterations, wanted.summary.iterations);
    ASSERT_EQ(got.factors().size(), wanted.factors().size());
    const auto& C = std::get<Matrix>(*got.factors().front().value);
    const auto& expected = std::get<Matrix>(*wanted.factors().front().value);
    EXPECT_CLOSE(C, expected, kPlacedTolerance) << static_cast<int>(sampling);
    const std::vector<Index> all = index_range(0, 300);
    EXPECT_CLOSE(got.columns_at(all), wanted.columns_at(all), 1e-8);
  }
  const CountedOperator counted(*A);
  const CountedOperator counted_gpu(*placed);
  nystrom(counted, {.rank = 60});
  nystrom(counted_gpu, {.rank = 60});
  EXPECT_EQ(counted.passes(), counted_gpu.passes());
}

/// K - C W^+ C^T of a kernel that is not positive definite has negative entries on its diagonal.
TEST(Placement, NystromOfAPlacedKernelSeesThatItIsIndefinite) {
  const OperatorPointer A = std::make_shared<KernelOperator>(
      random_matrix(40, 3, 8),
      KernelOptions{.function = KernelFunction::kPolynomial, .degree = 2, .offset = -0.05});
  const OperatorPointer placed = placed_on_host(A);
  for (const auto sampling : {LandmarkSampling::kPivotedCholesky, LandmarkSampling::kUniform}) {
    const NystromOptions options{.rank = 8, .form = NystromForm::kPsd, .sampling = sampling};
    std::string wanted;
    try {
      nystrom(*A, options);
    } catch (const Error& error) {
      wanted = error.what();
    }
    ASSERT_NE(wanted, "");
    EXPECT_REFUSED(Error, nystrom(*placed, options), wanted.substr(0, wanted.find("entry")));
  }
}

TEST(Placement, KMeansFindsThePointsBehindACountedAndAPlacedKernel) {
  const OperatorPointer A = std::make_shared<KernelOperator>(random_matrix(60, 2, 6));
  const CountedOperator counted(*A);
  const OperatorPointer placed = placed_on_host(A);
  const CountedOperator both(*placed);
  const NystromOptions options{.rank = 5, .sampling = LandmarkSampling::kKMeans};
  EXPECT_EQ(nystrom(counted, options).rows(), 60);
  EXPECT_EQ(nystrom(both, options).rows(), 60);
}

TEST(Placement, KeepsWhatTheOperatorKnows) {
  const OperatorPointer A = std::make_shared<DenseOperator>(random_matrix(7, 5, 1));
  const OperatorPointer placed = placed_on_host(A);
  EXPECT_EQ(&placed->underlying(), A.get());
  EXPECT_EQ(&A->underlying(), A.get());
  EXPECT_EQ(placed->description(), "dense, on the GPU");
  EXPECT_EQ(placed->known_facts().nonzeros, A->known_facts().nonzeros);
  EXPECT_EQ(placed->cost().stored_numbers, 35);
}

TEST(Placement, CpuIsTheOperatorItself) {
  const OperatorPointer A = std::make_shared<DenseOperator>(random_matrix(4, 4, 1));
  const Placement placement = place(A, Device::kCpu);
  EXPECT_EQ(placement.matrix, A);
  EXPECT_EQ(placement.device, Device::kCpu);
  EXPECT_FALSE(placement.estimate);
  EXPECT_REFUSED(InvalidArgument, place(nullptr, Device::kCpu), "there is no matrix");
}

TEST(Placement, WithoutAGpuAutoIsTheCpuAndCudaSaysWhatIsMissing) {
  const std::string why = why_no_gpu();
  if (why.empty()) GTEST_SKIP() << "this machine has a GPU";
  const OperatorPointer A = std::make_shared<DenseOperator>(random_matrix(4, 4, 1));
  const Placement placement = place(A, Device::kAuto);
  EXPECT_EQ(placement.matrix, A);
  EXPECT_EQ(placement.device, Device::kCpu);
  EXPECT_EQ(placement.reason, why);
  EXPECT_REFUSED(NotAvailable, place(A, Device::kCuda), why);
  EXPECT_REFUSED(NotAvailable, gpu_info(), why);
  EXPECT_REFUSED(NotAvailable, gpu_copy_bandwidth(), why);
}

TEST(Placement, WhatCannotBePlacedIsNamed) {
  const CovarianceOperator A(random_matrix(9, 4, 1), false);
  EXPECT_FALSE(is_placeable(A));
  EXPECT_REFUSED(InvalidArgument,
                 estimate_placement(A, {}, {1, 1, 1, 0}, {1, 1, 1, 0}, 1),
                 "cannot be placed on a GPU; only dense, sparse and kernel matrices");
}

TEST(PlacementEstimate, OfADenseMatrixIsAsCountedByHand) {
  // 30 x 20 and 5 columns: 2 * 600 * 5 = 6000 flops, 4800 bytes of the matrix, (30 + 20) * 5 * 8 =
  // 2000 bytes of blocks; two such products.
  const DenseOperator A(random_matrix(30, 20, 1));
  const Workload workload{.columns = 5, .products = 2};
  const ComputeRates cpu{1e3, 1e9, 0, 0.5};
  const ComputeRates gpu{1e9, 1e4, 1e3, 0.25};
  const PlacementEstimate estimate = estimate_placement(A, workload, cpu, gpu, 10000);
  EXPECT_DOUBLE_EQ(estimate.cpu_seconds, 2 * (6.0 + 0.5));
  EXPECT_DOUBLE_EQ(estimate.gpu_seconds, 2 * (0.48 + 0.25 + 2.0));
  EXPECT_DOUBLE_EQ(estimate.place_seconds, 4.8);
  EXPECT_EQ(estimate.gpu_bytes, 4800);
  EXPECT_TRUE(estimate.fits);
  EXPECT_TRUE(estimate.gpu_is_faster());
  EXPECT_THAT(to_text(estimate), testing::HasSubstr("13 s on the CPU, 5.46 s on the GPU"));
  // One column needs four blocks of 30 numbers: 960 bytes.
  EXPECT_FALSE(estimate_placement(A, workload, cpu, gpu, 4800 + 960).fits);
  EXPECT_TRUE(estimate_placement(A, workload, cpu, gpu, 4800 + 961).fits);
  EXPECT_FALSE(estimate_placement(A, workload, cpu, gpu, 100).gpu_is_faster());
  EXPECT_THAT(to_text(estimate_placement(A, workload, cpu, gpu, 100)),
              testing::HasSubstr("which do not fit"));
  EXPECT_FALSE(estimate_placement(A, workload, gpu, cpu, 10000).gpu_is_faster());
  EXPECT_REFUSED(InvalidArgument, estimate_placement(A, {.columns = 0}, cpu, gpu, 1), "0 columns");
  EXPECT_REFUSED(
      InvalidArgument, estimate_placement(A, {.products = 0}, cpu, gpu, 1), "0 products");
}

TEST(PlacementEstimate, CountsStreamedFactorsInEveryProduct) {
  const FactorProduct A = chord_chain(100, false);
  const ChainBytes bytes(chord_of(A).pattern);
  const Workload workload{.columns = 2, .products = 3};
  const ComputeRates slow_cpu{1, 1e9, 0, 0};
  const ComputeRates gpu{1e12, 1e12, 1e3, 0};
  const Index room = 100 * bytes.chain;
  const PlacementEstimate there = estimate_placement(A, workload, slow_cpu, gpu, room);
  const PlacementEstimate here = estimate_placement(A, workload, slow_cpu, gpu, bytes.chain);
  EXPECT_EQ(there.host_bytes, 0);
  EXPECT_EQ(here.host_bytes, bytes.chain);
  EXPECT_EQ(here.gpu_bytes, 800);
  EXPECT_TRUE(here.fits);
  // Each product streams the chain twice.
  EXPECT_NEAR(here.gpu_seconds - there.gpu_seconds,
              3 * 2 * static_cast<double>(bytes.chain) / 1e3,
              1e-9 * here.gpu_seconds);
  EXPECT_DOUBLE_EQ(here.place_seconds, 0.8);
  EXPECT_TRUE(here.gpu_is_faster());
  const ComputeRates fast_cpu{1e12, 1e6, 0, 0};
  EXPECT_FALSE(estimate_placement(A, workload, fast_cpu, gpu, bytes.chain).gpu_is_faster());
  EXPECT_THAT(to_text(here), testing::HasSubstr("GB stay on the host and are streamed"));
  EXPECT_THAT(to_text(there), testing::Not(testing::HasSubstr("streamed")));
}

TEST(PlacementEstimate, CountsWhatEachKindStores) {
  // 12 entries in compressed rows with short indices, and their transpose.
  SparseMatrix S(10, 7);
  for (Index k = 0; k < 12; ++k) S.insert(k % 10, (2 * k + k / 10) % 7) = 1;
  const SparseOperator sparse(S);
  EXPECT_EQ(gpu_work(sparse, 3).value().gpu_bytes, 2 * (12 * 12 + 10 * 4));
  EXPECT_DOUBLE_EQ(gpu_work(sparse, 3).value().flops, 2 * 12 * 3);
  const SparseOperator symmetric(grid_laplacian(3));
  EXPECT_EQ(gpu_work(symmetric, 1).value().gpu_bytes, 33 * 12 + 9 * 4);

  // Each of 100 x 100 entries: 3 flops per coordinate, 30 for the function, 2 per column.
  const KernelOperator kernel(random_matrix(100, 4, 1));
  EXPECT_DOUBLE_EQ(gpu_work(kernel, 8).value().flops, 1e4 * (12 + 30 + 16));
  EXPECT_EQ(gpu_work(kernel, 8).value().gpu_bytes, 3200);

  // C T T^T C^T stores C and T once.
  const Factor C = make_factor("C", random_matrix(50, 4, 1));
  const Factor T = make_factor("T", random_matrix(4, 4, 2));
  const FactorProduct product({C, T, {"T", T.value, true}, {"C", C.value, true}});
  EXPECT_EQ(gpu_work(product, 2).value().gpu_bytes, 8 * (200 + 16));
  EXPECT_DOUBLE_EQ(gpu_work(product, 2).value().flops, 2 * 2 * 2 * (200 + 16));
  EXPECT_EQ(gpu_work(product, 2).value().longest, 50);
}

TEST(PlacementEstimate, RatesGrowWithTheGpu) {
  GpuInfo h200;
  h200.capability_major = 9;
  h200.multiprocessors = 132;
  h200.clock_hz = 1.98e9;
  const ComputeRates rates = gpu_rates(h200, 4e12);
  // 132 multiprocessors with 64 units, two flops each: 33 TF/s, half of which is assumed.
  EXPECT_NEAR(rates.flops, 16.7e12, 0.1e12);
  EXPECT_EQ(rates.bandwidth, 4e12);
  GpuInfo for_images = h200;
  for_images.capability_minor = 9;
  for_images.capability_major = 8;
  EXPECT_LT(gpu_rates(for_images, 1e12).flops, 0.1 * rates.flops);
  for_images.capability_minor = 0;
  for_images.capability_major = 12;
  EXPECT_LT(gpu_rates(for_images, 1e12).flops, 0.1 * rates.flops);
  EXPECT_GT(cpu_rates().flops, 0);
  EXPECT_GT(cpu_rates().bandwidth, 0);
}

}  // namespace
}  // namespace matapprox::test
