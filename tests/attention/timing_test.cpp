#include "matapprox/attention/timing.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "matapprox/core/error.hpp"

namespace matapprox {
namespace {

using attention::TimedAttention;

/// Rows whose time is scale N^power.
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
  EXPECT_EQ(rows.back().cost.multiplications, 16 * 4 * 8 * (8 + 5));
  EXPECT_THROW(attention::time_attention({{"nothing", {}}}, shape, {8}, 1), InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {{"rank", "5"}}}}, shape, {8}, 1),
               InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {}}}, shape, {0}, 1), InvalidArgument);
  EXPECT_THROW(attention::time_attention({{"psf", {}}}, shape, {8}, 0), InvalidArgument);
}

}  // namespace
}  // namespace matapprox
