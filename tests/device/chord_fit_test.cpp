#include "device/cuda/kernels/chord_fit.hpp"

#include <gtest/gtest.h>

#include "device/cuda/chord_targets.hpp"
#include "device/cuda/kernels/host_queue.hpp"
#include "matapprox/core/random.hpp"
#include "matapprox/factors/chord_factors.hpp"
#include "matapprox/kernels/chord.hpp"

namespace matapprox {
namespace {

constexpr Index kFitOrder = 37;

struct FitProblem {
  ChordPattern pattern = chord_reference_pattern(kFitOrder);
  Vector values = random_normal_matrix(1, RandomStream::kGenerator, pattern.stored_numbers(), 1);
  Matrix target = random_normal_matrix(2, RandomStream::kGenerator, kFitOrder, kFitOrder);
  kernels::ChordForm form = kernels::ChordForm::kProduct;

  cuda::ChordShape shape() const {
    return {pattern.order, pattern.offsets, form == kernels::ChordForm::kSymmetrized};
  }
  cuda::TargetColumns columns() const {
    return [this](const Index* J, Index count, double* panel) {
      for (Index i = 0; i < kFitOrder; ++i) {
        for (Index c = 0; c < count; ++c) panel[i * count + c] = target(i, J[c]);
      }
    };
  }
  /// Compares the kernels of the CPU with those of the device run on the host; the list need not be
  /// sorted.
  void expect_equal(const std::vector<Index>& J, Index memory, bool whole) const {
    const kernels::TargetPanel panel = [&](Index first, Index count, double* out) {
      columns()(J.data() + first, count, out);
    };
    Vector wanted(values.size());
    const double f =
        kernels::chord_objective(pattern, values.data(), J, panel, wanted.data(), form);
    const cuda::HostQueue queue;
    const auto count = static_cast<Index>(J.size());
    cuda::ChordFit<cuda::HostQueue> fit(
        queue,
        shape(),
        count,
        memory,
        cuda::make_target_panels(queue, kFitOrder, columns(), whole));
    Vector gradient(values.size());
    EXPECT_NEAR(fit.evaluate(J.data(), count, values.data(), gradient.data()), f, 1e-12 * f);
    EXPECT_LE((gradient - wanted).norm(), 1e-12 * wanted.norm());
    EXPECT_NEAR(fit.evaluate(J.data(), count, values.data(), nullptr), f, 1e-12 * f);
  }
};

TEST(DeviceChordFit, EqualsTheKernelsOfTheCpu) {
  std::vector<Index> all(kFitOrder);
  std::iota(all.begin(), all.end(), Index{0});
  for (const bool whole : {false, true}) FitProblem().expect_equal(all, Index{1} << 30, whole);
}

TEST(DeviceChordFit, OfTheSymmetricPartEqualsTheKernelsOfTheCpu) {
  for (const ChordPattern& pattern : {chord_alternating_pattern(kFitOrder),
                                      chord_mixed_radix_pattern(kFitOrder, 36),
                                      ChordPattern{kFitOrder, {{0, 1, 5}}}}) {
    FitProblem problem;
    problem.pattern = pattern;
    problem.values = random_normal_matrix(1, RandomStream::kGenerator, pattern.stored_numbers(), 1);
    problem.target = (problem.target + problem.target.transpose()).eval();
    problem.form = kernels::ChordForm::kSymmetrized;
    const Index column = (pattern.factors() + 4) * kFitOrder * 8;
    problem.expect_equal({36, 0, 17, 17, 3}, Index{1} << 30, true);
    problem.expect_equal({1, 2, 3, 4, 5, 6, 7}, 2 * column, false);
  }
}

TEST(DeviceChordFit, TakesAnyListOfColumns) {
  FitProblem().expect_equal({36, 0, 17, 17, 3}, Index{1} << 30, false);
  FitProblem().expect_equal({36, 0, 17, 17, 3}, Index{1} << 30, true);
}

// Panels of one, two and five columns, the last one partial.
TEST(DeviceChordFit, GivesTheSameInNarrowPanels) {
  const FitProblem problem;
  const Index column = (problem.pattern.factors() + 4) * kFitOrder * 8;
  for (const Index width : {1, 2, 5}) {
    problem.expect_equal({1, 2, 3, 4, 5, 6, 7}, width * column, false);
    problem.expect_equal({1, 2, 3, 4, 5, 6, 7}, width * column, true);
  }
}

}  // namespace
}  // namespace matapprox
