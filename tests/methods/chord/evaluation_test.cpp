#include <gtest/gtest.h>

#include "matapprox/operators/dense.hpp"
#include "methods/chord/chain.hpp"
#include "methods/chord/objective.hpp"
#include "support/expect_close.hpp"
#include "support/known_spectrum.hpp"
#include "support/played_gpu.hpp"

namespace matapprox {
namespace {

using chord_fit::Evaluation;
using chord_fit::Target;

constexpr Index kEvaluatedOrder = 21;

/// A sample gives an unbiased estimate: the mean over all samples of one size is the whole
/// objective; for samples of one column it is the mean over the columns. Value and gradient, on the
/// CPU and by GPU code.
TEST(ChordEvaluation, SamplesOfOneColumnHaveTheWholeAsTheirMean) {
  const DenseOperator A(test::random_matrix(kEvaluatedOrder, kEvaluatedOrder));
  const Target target(A, {});
  const ChordFactors chain = test::random_chain(chord_reference_pattern(kEvaluatedOrder));
  const auto gpu = [](const ChordPattern& pattern, Index max_columns, const ChordTarget& part) {
    return test::host_gpu_objective(pattern, max_columns, part);
  };
  for (const bool on_device : {false, true}) {
    RunControl control;
    control.on_device = on_device;
    const chord_fit::Form form{"", chain.pattern};
    Evaluation objective(form, target, kEvaluatedOrder, control, gpu);
    const auto count = static_cast<Index>(chain.values.size());
    const MultiVector values(objective.space(),
                             Eigen::Map<const Matrix>(chain.values.data(), count, 1));
    MultiVector gradient(objective.space(), count, 1);
    const double whole = objective.of_all(values.data(), gradient.data());
    const Matrix whole_gradient = to_host(gradient.columns());

    double mean = 0;
    Matrix mean_gradient = Matrix::Zero(count, 1);
    for (Index c = 0; c < kEvaluatedOrder; ++c) {
      mean +=
          objective.of_sample(std::span(&c, 1), values.data(), gradient.data()) / kEvaluatedOrder;
      mean_gradient += to_host(gradient.columns()) / kEvaluatedOrder;
    }
    EXPECT_NEAR(mean, whole, 1e-13 * whole) << on_device;
    EXPECT_CLOSE(mean_gradient, whole_gradient, 1e-13) << on_device;
  }
}

/// The value of a sample is the same with and without its gradient.
TEST(ChordEvaluation, TheValueAloneIsTheValueWithItsGradient) {
  const DenseOperator A(test::random_matrix(kEvaluatedOrder, kEvaluatedOrder));
  const Target target(A, {});
  const ChordFactors chain = test::random_chain(chord_reference_pattern(kEvaluatedOrder));
  const RunControl control;
  const chord_fit::Form form{"", chain.pattern};
  Evaluation objective(form, target, kEvaluatedOrder, control, {});
  std::vector<double> gradient(chain.values.size());
  const std::vector<Index> J{20, 3, 3, 7};
  const double f = objective.of_sample(J, chain.values.data(), nullptr);
  EXPECT_GT(f, 0);
  EXPECT_NEAR(objective.of_sample(J, chain.values.data(), gradient.data()), f, 1e-14 * f);
}

}  // namespace
}  // namespace matapprox
