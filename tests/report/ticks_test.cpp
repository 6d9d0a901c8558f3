#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/plot.hpp"

namespace matapprox::report {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(std::pair<double, double> range, Scale scale, int wanted) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks(range, scale, wanted)) result.push_back(tick.label);
  return result;
}

TEST(Ticks, AreRoundNumbers) {
  EXPECT_THAT(labels({0, 100}, Scale::kLinear, 5), ElementsAre("0", "20", "40", "60", "80", "100"));
  EXPECT_THAT(labels({1, 1000}, Scale::kLog, 4), ElementsAre("1", "10", "100", "1,000"));
  EXPECT_THAT(labels({1500, 60000}, Scale::kLog, 8),
              ElementsAre("2,000", "5,000", "10,000", "20,000", "50,000"));
  EXPECT_THAT(labels({1e-9, 1}, Scale::kLog, 3), ElementsAre("10⁻⁹", "10⁻⁶", "0.001", "1"));
  EXPECT_THAT(labels({1e-16, 1}, Scale::kLog, 3), ElementsAre("10⁻¹²", "10⁻⁶", "1"));
  EXPECT_THAT(labels({0.52, 4.9}, Scale::kLog, 8), ElementsAre("0.7", "1", "1.5", "2", "3", "4"));
}

TEST(Ticks, ANarrowLogRangeStillHasSome) {
  EXPECT_GE(ticks({0.5, 0.9}, Scale::kLog, 6).size(), 3U);
  EXPECT_GE(ticks({0.99, 1.01}, Scale::kLog, 6).size(), 3U);
}

TEST(Ticks, LabelsReadAsOneWritesThem) {
  EXPECT_EQ(tick_label(0), "0");
  EXPECT_EQ(tick_label(0.05), "0.05");
  EXPECT_EQ(tick_label(24786), "24,786");
  EXPECT_EQ(tick_label(1e-16), "10⁻¹⁶");
  EXPECT_EQ(tick_label(3e8), "3×10⁸");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

TEST(PaddedRange, HoldsTheValuesAndLeavesOutWhatALogScaleCannotShow) {
  const auto [low, high] = padded_range({0, 10, 1000}, Scale::kLog);
  EXPECT_GT(low, 1);
  EXPECT_LT(low, 10);
  EXPECT_GT(high, 1000);
  EXPECT_EQ(padded_range({}, Scale::kLog), (std::pair<double, double>(1, 10)));
  const auto one = padded_range({5}, Scale::kLinear);
  EXPECT_LT(one.first, one.second);
}

}  // namespace
}  // namespace matapprox::report
