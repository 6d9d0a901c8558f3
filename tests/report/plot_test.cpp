#include "report/plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <regex>
#include <set>

#include "matapprox/core/error.hpp"
#include "matapprox/core/run_control.hpp"
#include "matapprox/core/visible_text.hpp"
#include "matapprox/io/matrix_files.hpp"
#include "report/gnuplot.hpp"
#include "report/terminal_table.hpp"

namespace matapprox::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Chart example() {
  Chart chart;
  chart.name = "error_storage";
  chart.x = {"stored numbers", Scale::kLog, {}};
  chart.y = {"relative error", Scale::kLog, {}};
  chart.series = {styled_series("truncated SVD", {{100, 0.5}, {1000, 0.01}}, 0),
                  styled_series("Nystr\u00f6m's <b>_x^2", {{100, 0.7}, {1000, 0.0}}, 2)};
  chart.lines = {{5000, "N\u00b2 = 5,000"}};
  return chart;
}

std::vector<std::string> ids(const std::string& svg) {
  const std::regex id("\\bid=['\"]([^'\"]*)");
  std::vector<std::string> found;
  for (std::sregex_iterator match(svg.begin(), svg.end(), id), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

TEST(Plot, DataEndUpInTheSvg) {
  const std::string svg = draw_files(example()).svg;
  for (const char* text : {"stored numbers",
                           "relative error",
                           "truncated SVD",
                           "Nystr\u00f6m's &lt;b>_x^2",
                           "N\u00b2 = 5,000",
                           "1,000",
                           "0.01",
                           "rgb( 27,  95, 176)"}) {
    EXPECT_THAT(svg, HasSubstr(text));
  }
}

TEST(Plot, PngIsAnImageOfTheStatedSize) {
  const GrayImage image = parse_image(draw_files(example()).png, "chart");
  EXPECT_EQ(image.values.cols(), 1720);
  EXPECT_EQ(image.values.rows(), 960);
  EXPECT_LT(image.values.minCoeff(), 100);
  EXPECT_EQ(image.values.maxCoeff(), 255);
}

TEST(Plot, PagePartHasVariablesForColorsAndIdsOfItsOwn) {
  const DrawnChart drawn = draw_for_page(example());
  std::set<std::string> seen;
  for (const std::string& svg : {drawn.wide, drawn.narrow}) {
    EXPECT_EQ(svg.rfind("<svg", 0), 0U);
    EXPECT_THAT(svg, HasSubstr("var(--series-0)"));
    EXPECT_THAT(svg, HasSubstr("var(--ink)"));
    EXPECT_THAT(svg, Not(HasSubstr("http")));
    EXPECT_THAT(svg, Not(HasSubstr("27,  95, 176")));
    for (const std::string& id : ids(svg)) EXPECT_TRUE(seen.insert(id).second) << id;
  }
  EXPECT_GE(seen.size(), 10U);
  ASSERT_EQ(drawn.legend.size(), 2U);
  EXPECT_EQ(drawn.legend[0].title, "truncated SVD");
}

TEST(Plot, NothingToShowIsAnEmptyFrame) {
  Chart chart = example();
  chart.lines.clear();
  for (ChartSeries& series : chart.series) series.points = {{-1, 0}};
  EXPECT_THAT(draw_files(chart).svg, HasSubstr("stored numbers"));
  EXPECT_TRUE(draw_for_page(chart).legend.empty());
}

TEST(Plot, TextCannotBecomeACommand) {
  Chart chart = example();
  chart.x.label = "a' ; set output '/nonexistent/x' ; `false` \n plot @b \"c\" \\n";
  EXPECT_THAT(draw_files(chart).svg,
              HasSubstr("set output '/nonexistent/x' ; `false` \\n plot @b"));
}

TEST(Gnuplot, RefusedScriptIsAnErrorWithItsWords) {
  try {
    run_gnuplot("plot nonsense with nonsense\n");
    FAIL();
  } catch (const NumericalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot: "));
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
  }
}

TEST(Gnuplot, OneThatHangsIsGivenUp) {
  try {
    run_gnuplot("pause 600\n", 0.2);
    FAIL();
  } catch (const NotAvailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot did not finish within 0.2 s"));
  }
}

TEST(Gnuplot, AStopScopeEndsIt) {
  const std::atomic<bool> stop{true};
  RunControl control;
  control.stop = &stop;
  const StopScope scope(control, "a drawing");
  EXPECT_THROW(run_gnuplot("pause 600\n"), Interrupted);
}

TEST(CsvCell, FormulasAndControlCharactersAreText) {
  for (const char* text : {"=1+1", "+cmd|' /C calc'!A0", "-x", "@SUM(A1)", "-1-1", "--"})
    EXPECT_EQ(csv_cell(text), std::string("'") + text);
  for (const char* text : {"-1.5e-3", "+2", "1", "text", "", "a=b", "-inf"})
    EXPECT_EQ(csv_cell(text), text);
  EXPECT_EQ(csv_cell("a,\"b\"\n=1\x1b"), "\"a,\"\"b\"\"\\n=1\\u001b\"");
}

TEST(TerminalTable, CellsStayInTheirLineAndSequencesWhole) {
  const std::vector<TerminalColumn> columns{{"name", 4, true, true}, {"value"}};
  const std::string table = terminal_table(columns, {{"a\nb\x1b", "1"}, {"\u00e9", "2"}});
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  EXPECT_THAT(table, HasSubstr("a\\nb\\u001b"));
  std::string word;
  for (int i = 0; i < 150; ++i) word += "\u00e9";
  std::string lines = wrapped("x" + word, 2);
  EXPECT_EQ(visible_lines(lines), lines);  // valid UTF-8
  EXPECT_EQ(wrapped(std::string(150, ' ') + "x" + std::string(120, ' '), 2).back(), '\n');
}

TEST(Gnuplot, MissingProgramNamesThePackage) {
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  setenv("PATH", "/nonexistent", 1);
  try {
    require_gnuplot();
    ADD_FAILURE();
  } catch (const NotAvailable& error) {
    EXPECT_THAT(error.what(), HasSubstr("gnuplot-nox"));
  }
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace matapprox::report
