#include "report/solution_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace matapprox::report {
namespace {

using testing::HasSubstr;

SolveResult result_of(Index iterations, double factor) {
  SolveResult result;
  result.iterations = iterations;
  for (Index k = 0; k <= iterations; ++k)
    result.history.push_back({k, 0.0, std::pow(factor, static_cast<double>(k))});
  result.relative_residual = result.history.back().relative_residual;
  return result;
}

SolutionContents contents_of(std::vector<SolveResult> results) {
  return {"a.mtx", "3 x 3, sparse", "b.npy", "none", 1e-8, 0.0, std::move(results), "matapprox"};
}

TEST(SolutionReport, TheChartHasALineForEachColumnAndTheTolerance) {
  const Chart chart = residual_chart(contents_of({result_of(8, 0.1), result_of(100, 0.01)}));
  ASSERT_EQ(chart.series.size(), 3U);
  EXPECT_EQ(chart.series[0].title, "column 1");
  EXPECT_EQ(chart.series[0].points.size(), 9U);
  EXPECT_NE(chart.series[0].point_type, 0);
  EXPECT_EQ(chart.series[1].point_type, 0);                       // marks would cover each other
  EXPECT_DOUBLE_EQ(chart.series[1].points.back().second, 1e-16);  // not 1e-200
  EXPECT_EQ(chart.series[2].title, "tolerance");
  EXPECT_EQ(chart.series[2].points.back(), (std::pair<double, double>(100, 1e-8)));
  EXPECT_EQ(chart.y.scale, Scale::kLog);
}

TEST(SolutionReport, ManyColumnsShareOneInkWithoutNames) {
  const Chart chart = residual_chart(contents_of(std::vector<SolveResult>(12, result_of(3, 0.1))));
  ASSERT_EQ(chart.series.size(), 13U);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(chart.series[i].title, "");
    EXPECT_EQ(chart.series[i].ink.variable, chart.series[0].ink.variable);
  }
}

TEST(SolutionReport, TheTableShowsBothResidualsAndMessages) {
  SolveResult result = result_of(2, 0.1);
  result.relative_residual = 0.0125;
  result.end = SolveEnd::kStagnated;
  result.message = "no better x";
  const std::string text = solution_table(contents_of({result}));
  EXPECT_THAT(text, HasSubstr("a.mtx: 3 x 3, sparse\npreconditioner: none\n"));
  EXPECT_THAT(text, HasSubstr("     1  cg      stagnated                2  1.250e-02   1.000e-02"));
  EXPECT_THAT(text, HasSubstr("column 1: no better x\n"));
}

TEST(SolutionReport, TheJsonHoldsTheHistory) {
  const Json json = to_json(result_of(2, 0.5));
  EXPECT_EQ(json["end"], "converged");
  EXPECT_EQ(json["history"].size(), 3U);
  EXPECT_EQ(json["history"][2], Json({2, 0.0, 0.25}));
}

}  // namespace
}  // namespace matapprox::report
