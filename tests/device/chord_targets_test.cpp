#include "device/cuda/chord_targets.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "device/cuda/kernels/host_queue.hpp"
#include "device/gpu_factors.hpp"
#include "matapprox/kernels/chord.hpp"
#include "matapprox/operators/dense.hpp"
#include "matapprox/operators/kernel.hpp"
#include "matapprox/operators/sparse.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/objective.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

// Columns of a fit's target that a GPU computes or stores, against those of the CPU.

namespace matapprox {
namespace {

using chord_fit::Target;

constexpr Index kTargetOrder = 150;  // more than one tile of a kernel matrix

SparseMatrix unsymmetric() {
  SparseMatrix A(kTargetOrder, kTargetOrder);
  for (Index i = 0; i < kTargetOrder; ++i) {
    for (const Index j : {i, (3 * i + 1) % kTargetOrder, (7 * i * i) % kTargetOrder, Index{5}})
      A.coeffRef(i, j) = 1 + static_cast<double>((i * 31 + j * 17) % 23);
  }
  return A;
}

SparseMatrix symmetric() {
  const SparseMatrix A = unsymmetric();
  return A + SparseMatrix(A.transpose());
}

KernelOperator kernel(KernelFunction function) {
  KernelOptions options;
  options.function = function;
  return KernelOperator(test::random_matrix(kTargetOrder, 3), options);
}

ChordTarget chord_target(const LinearOperator& A, const Target& target) {
  return {A, target.unit(), [&target](std::span<const Index> J, double* panel) {
            target.columns(J, panel);
          }};
}

/// The panel of the GPU: columns J followed by two columns of zeros.
MatrixOf<double> gpu_panel(const LinearOperator& A,
                           const Target& target,
                           const std::vector<Index>& J,
                           cuda::HostOrder order,
                           bool whole) {
  const cuda::HostQueue queue(order);
  const GpuChordTarget on_gpu = gpu_chord_target(chord_target(A, target));
  const auto panels = cuda::make_target_panels(queue, kTargetOrder, on_gpu.source, whole);
  const auto count = static_cast<Index>(J.size());
  const Index width = count + 2;
  Matrix panel = Matrix::Constant(width, kTargetOrder, -1);  // row-major for the GPU
  panels->fill({J.data(), J.data(), count}, width, panel.data());
  return panel.transpose();
}

void expect_columns(const LinearOperator& A, double tolerance) {
  const Target target(A, {});
  const std::vector<Index> J{149, 0, 17, 17, 3, 128, 127, 64, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  const auto count = static_cast<Index>(J.size());
  Matrix wanted = Matrix::Zero(kTargetOrder, count + 2);
  wanted.leftCols(count) = A.columns_at(J) / target.unit();
  for (const auto order : {cuda::HostOrder::kForward, cuda::HostOrder::kBackward}) {
    for (const bool whole : {false, true}) {
      const Matrix panel = gpu_panel(A, target, J, order, whole);
      EXPECT_LE((panel - wanted).cwiseAbs().maxCoeff(), tolerance * wanted.cwiseAbs().maxCoeff())
          << A.description();
    }
  }
}

TEST(ChordTargets, StoredMatricesGiveTheSameBits) {
  expect_columns(DenseOperator(test::random_matrix(kTargetOrder, kTargetOrder)), 0);
  expect_columns(SparseOperator(unsymmetric()), 0);
  expect_columns(SparseOperator(symmetric()), 0);
}

TEST(ChordTargets, KernelMatricesAreMadeToRounding) {
  for (const auto function : {KernelFunction::kGaussian,
                              KernelFunction::kLaplacian,
                              KernelFunction::kMatern32,
                              KernelFunction::kMatern52,
                              KernelFunction::kPolynomial,
                              KernelFunction::kLinear,
                              KernelFunction::kCosine})
    expect_columns(kernel(function), 1e-14);
}

TEST(ChordTargets, TheGpuMakesColumnsAlsoBehindACounterAndAPlace) {
  const auto made = [](const LinearOperator& A) {
    const Target target(A, {});
    return !std::holds_alternative<cuda::TargetColumns>(
        gpu_chord_target(chord_target(A, target)).source);
  };
  const auto K = std::make_shared<const KernelOperator>(kernel(KernelFunction::kGaussian));
  const auto placed = test::placed_on_host(K);
  EXPECT_TRUE(made(*K));
  EXPECT_TRUE(made(CountedOperator(*K)));
  EXPECT_TRUE(made(CountedOperator(*placed)));
  EXPECT_TRUE(made(CountedOperator(SparseOperator(symmetric()))));
  EXPECT_FALSE(made(DenseOperator(test::random_matrix(8, 8))));
}

/// Compares f and its gradient when the GPU computes the columns, and counts the uses of A.
TEST(ChordTargets, AnObjectiveOfThemIsThatOfTheCpuAndCountsItsColumns) {
  const KernelOperator K = kernel(KernelFunction::kMatern32);
  const SparseOperator S{unsymmetric()};
  for (const LinearOperator* A :
       {static_cast<const LinearOperator*>(&K), static_cast<const LinearOperator*>(&S)}) {
    const ChordFactors chain = test::random_chain(chord_reference_pattern(kTargetOrder));
    const Target target(*A, {});
    const std::vector<Index> J{3, 149, 70, 70, 0};
    const kernels::TargetPanel panel = [&](Index first, Index count, double* out) {
      target.columns(
          std::span(J).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)),
          out);
    };
    Vector wanted(chain.pattern.stored_numbers());
    const double f =
        kernels::chord_objective(chain.pattern, chain.values.data(), J, panel, wanted.data());
    const CountedOperator counted(*A);
    const auto objective =
        test::host_gpu_objective(chain.pattern, 5, chord_target(counted, target));
    const MultiVector values(objective->space(),
                             Eigen::Map<const Matrix>(chain.values.data(), wanted.size(), 1));
    MultiVector gradient(objective->space(), wanted.size(), 1);
    EXPECT_NEAR(objective->evaluate(J, values.data(), gradient.data()), f, 1e-12 * f);
    EXPECT_CLOSE(to_host(gradient.columns()), Matrix(wanted), 1e-12);
    EXPECT_NEAR(objective->evaluate(J, values.data(), nullptr), f, 1e-12 * f);
    EXPECT_NEAR(counted.passes(), 10.0 / kTargetOrder, 1e-12);
  }
}

}  // namespace
}  // namespace matapprox
