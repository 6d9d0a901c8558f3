#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matapprox/operators/dense.hpp"
#include "report/comparison_page.hpp"

namespace matapprox::report {
namespace {

ComparisonRow ranked(const std::string& method, Index rank) {
  ComparisonRow made;
  made.method = method;
  made.rank = rank;
  made.storage = Storage{100 * rank, 800 * rank};
  made.storage_share = 0.1;
  made.measurement = Measurement{};
  made.measurement->relative_error = 0.1;
  made.fit_seconds = 0.5;
  return made;
}

Comparison comparison_of(std::vector<ComparisonRow> rows) {
  Comparison made;
  made.facts.rows = made.facts.cols = 100;
  made.facts.nonzeros = 500;
  made.rows = std::move(rows);
  return made;
}

const ChartSeries& series_of(const Chart& chart, const std::string& title) {
  for (const ChartSeries& series : chart.series) {
    if (series.title == title) return series;
  }
  ADD_FAILURE() << title;
  return chart.series.front();
}

TEST(SpectrumChart, MarksStandAtTheRanksAndDoNotCoverEachOther) {
  Vector values(100);
  for (Index k = 0; k < 100; ++k) values(k) = std::pow(0.9, static_cast<double>(k));
  const Chart chart = spectrum_chart(
      comparison_of({ranked("truncated_svd", 40), ranked("jl_projection", 40), ranked("cur", 41)}),
      {values, true, "all"});
  EXPECT_EQ(chart.name, "singular_values");
  const auto svd = series_of(chart, "truncated SVD, rank 40").points[0];
  const auto jl = series_of(chart, "JL projection, rank 40").points[0];
  const auto cur = series_of(chart, "CUR, rank 41").points[0];
  EXPECT_EQ(svd.first, 40);
  EXPECT_NEAR(svd.second, values(39), 1e-12);
  EXPECT_GT(jl.second, svd.second * 1.1);
  EXPECT_GT(cur.second, jl.second * 1.1);
}

TEST(SpectrumChart, ZeroMatrixAndUnknownValuesLeaveTheFrame) {
  EXPECT_TRUE(spectrum_chart(comparison_of({ranked("cur", 4)}), {Vector::Zero(5), true, "all"})
                  .series.front()
                  .points.empty());
  EXPECT_NO_THROW(spectrum_chart(comparison_of({}), {{}, false, "none"}));
}

TEST(StorageChart, HasTheFrontTheLinesAndNoErrorOfZero) {
  StorageSweep sweep;
  sweep.points = {{"cur", 800, 0.5, true, false}, {"cur", 1600, 0.0, true, false}};
  const Chart chart = storage_chart(comparison_of({ranked("cur", 2)}), sweep);
  EXPECT_EQ(chart.x.label, "stored bytes");
  EXPECT_EQ(series_of(chart, "CUR").points.back(), (std::pair<double, double>(1600, kErrorFloor)));
  EXPECT_TRUE(series_of(chart, "Pareto front").steps);
  ASSERT_EQ(chart.lines.size(), 2U);
  EXPECT_EQ(chart.lines[0].x, 8 * 10000);
  EXPECT_EQ(chart.lines[1].x, 8 * 500);
  // The line for the values of the nonzeros is omitted if a given form of about that size is shown.
  ComparisonRow given = ranked("as_is", 1);
  given.storage = Storage{500, 6800};
  const Chart with_given = storage_chart(comparison_of({given, ranked("cur", 2)}), sweep);
  ASSERT_EQ(with_given.lines.size(), 2U);
  EXPECT_EQ(with_given.lines[1].label, "as given");
  EXPECT_EQ(with_given.lines[1].x, 6800);
}

TEST(TimeChart, AMethodWithoutHistoryIsAMark) {
  const Matrix A = Matrix::Identity(4, 4);
  const Chart chart =
      time_chart(comparison_of({ranked("cur", 2)}), FitRecords(DenseOperator(A), false));
  ASSERT_EQ(chart.series.size(), 1U);
  EXPECT_EQ(chart.series[0].points[0], (std::pair<double, double>(0.5, 0.1)));
}

}  // namespace
}  // namespace matapprox::report
