#include "matapprox/attention/mechanisms/timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "matapprox/attention/mechanisms/registry.hpp"
#include "matapprox/core/error.hpp"
#include "matapprox/core/random.hpp"

namespace matapprox {
namespace {

using attention::TimedAttention;

/// Adds rows with the time scale N^power.
void add_rows(const std::string& name,
              double scale,
              double power,
              std::vector<TimedAttention>& rows) {
  for (const Index n : {64, 128, 256, 1024}) {
    TimedAttention row;
    row.mechanism = name;
    row.length = n;
    row.forward_seconds = scale * std::pow(static_cast<double>(n), power);
    rows.push_back(row);
  }
}

TEST(AttentionTiming, SlopesAndCrossingsOfPowerLaws) {
  std::vector<TimedAttention> rows;
  add_rows("square", 1, 2, rows);
  add_rows("line", 200, 1, rows);
  add_rows("fast", 1, 1, rows);
  EXPECT_NEAR(attention::time_slope(rows, "square"), 2, 1e-12);
  EXPECT_NEAR(attention::time_slope(rows, "line"), 1, 1e-12);
  EXPECT_TRUE(std::isnan(attention::time_slope(rows, "none")));
  EXPECT_NEAR(attention::measured_crossover(rows, "line", "square"), 200, 1e-9);
  EXPECT_TRUE(std::isnan(attention::measured_crossover(rows, "square", "line")));
  EXPECT_TRUE(std::isnan(attention::measured_crossover(rows, "fast", "square")));
}

TEST(AttentionTiming, EveryMechanismIsTimed) {
  attention::AttentionShape shape;
  shape.width = 8;
  shape.heads = 2;
  const auto rows =
      attention::time_attention({{"psf", {}}, {"linformer", {{"rank", "5"}}}}, shape, {8, 16}, 1);
  ASSERT_EQ(rows.size(), 4U);
  for (const TimedAttention& row : rows) {
    EXPECT_GT(row.forward_seconds, 0);
    EXPECT_GT(row.training_seconds, row.forward_seconds);
    EXPECT_GT(row.bytes, row.length * 8 * 4);
    EXPECT_GT(row.cost.multiplications, 0);
  }
  EXPECT_EQ(rows.back().mechanism, "linformer:rank=5");
  EXPECT_EQ(rows.back().cost.multiplications, 2 * 16 * 8 * 8 + 4 * 5 * 16 * 8 + 2 * 5 * 8 * 8);
  EXPECT_THROW(attention::time_attention({{"nothing", {}}}, shape, {8}, 1), InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {{"rank", "5"}}}}, shape, {8}, 1),
               InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {}}}, shape, {0}, 1), InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {}}}, shape, {8}, 0), InvalidArgument);
}

/// The gradients are those of |Y|^2 / 2, checked by a central difference along a random direction
/// of the weights, with Y recomputed from the tensors.
TEST(AttentionTiming, TensorsAreOfOneTrainingPass) {
  attention::AttentionShape shape;
  shape.width = 8;
  shape.heads = 2;
  const auto tensors = attention::timed_tensors({"softmax", {}}, shape, 6);
  const auto find = [&](const std::string& name) {
    const auto found = std::find_if(
        tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
    EXPECT_NE(found, tensors.end()) << name;
    return Matrix(found->values.cast<double>());
  };
  attention::ParameterList list;
  shape.length = 6;
  const auto layer = attention::make_attention<double>("softmax", list, "layer", shape);
  std::vector<double> parameters(static_cast<std::size_t>(list.size()));
  std::vector<double> direction(parameters.size());
  double expected = 0;
  for (const attention::Parameter& p : list.parameters()) {
    const Matrix values = find(p.name);
    const Matrix gradient = find("gradient." + p.name);
    for (Index i = 0; i < p.size(); ++i) {
      const auto at = static_cast<std::size_t>(p.offset + i);
      parameters[at] = values(i / p.cols, i % p.cols);
      direction[at] = random_normal(2, RandomStream::kGenerator, p.offset + i, 0);
      expected += gradient(i / p.cols, i % p.cols) * direction[at];
    }
  }
  const attention::TokenMatrix<double> X = find("X");
  attention::Workspace<double> workspace;
  attention::Cache<double> cache;
  const auto result = [&](double step) {
    std::vector<double> moved = parameters;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += step * direction[i];
    attention::LayerContext<double> context;
    context.parameters = moved.data();
    context.workspace = &workspace;
    attention::TokenMatrix<double> Y(6, 8);
    layer->forward(context, X, Y, cache);
    return Y;
  };
  EXPECT_LT((result(0) - find("Y")).norm(), 1e-6 * find("Y").norm());
  constexpr double kStep = 1e-5;
  const double change = (result(kStep).squaredNorm() - result(-kStep).squaredNorm()) / 2;
  EXPECT_NEAR(change / (2 * kStep), expected, 1e-5 * std::abs(expected));
}

}  // namespace
}  // namespace matapprox
