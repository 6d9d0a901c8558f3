#include "report/solution_report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "matapprox/core/visible_text.hpp"
#include "report/build_info.hpp"
#include "report/page.hpp"

namespace matapprox::report {
namespace {

constexpr double kSmallestResidual = 1e-16;
/// Largest number of right-hand sides with a style and a name each; more are drawn in one color.
constexpr std::size_t kNamedColumns = 7;
/// Most points of a line with marks; on longer lines the marks would cover each other.
constexpr std::size_t kMarkedPoints = 40;

std::string solver_and_end(const SolveResult& result) {
  return fmt::format("{}, {} after {} iterations",
                     enum_name(result.solver),
                     enum_name(result.end),
                     result.iterations);
}

ChartSeries residual_line(const SolutionContents& contents, std::size_t column) {
  const SolveResult& result = contents.columns[column];
  const bool alone = contents.columns.size() == 1;
  const bool named = contents.columns.size() <= kNamedColumns;
  const std::string name = alone ? solver_and_end(result) : fmt::format("column {}", column + 1);
  ChartSeries line = styled_series(
      named ? name : std::string(), {}, named ? static_cast<int>(column) : kOtherStyle);
  for (const ResidualPoint& point : result.history) {
    line.points.emplace_back(static_cast<double>(point.iteration),
                             std::max(point.relative_residual, kSmallestResidual));
  }
  if (line.points.size() > kMarkedPoints) line.point_type = 0;
  return line;
}

double last_iteration(const SolutionContents& contents) {
  Index last = 1;
  for (const SolveResult& result : contents.columns) last = std::max(last, result.iterations);
  return static_cast<double>(last);
}

Table page_table(const SolutionContents& contents) {
  Table content{"Right-hand sides",
                {{"column", true},
                 {"solver"},
                 {"ended"},
                 {"iterations", true},
                 {"residual", true},
                 {"recurrence", true},
                 {"seconds", true},
                 {"message"}},
                {}};
  for (std::size_t i = 0; i < contents.columns.size(); ++i) {
    const SolveResult& result = contents.columns[i];
    TableCell message(result.message);
    message.is_long = true;
    content.rows.push_back({fmt::format("{}", i + 1),
                            std::string(enum_name(result.solver)),
                            std::string(enum_name(result.end)),
                            fmt::format("{}", result.iterations),
                            fmt::format("{:.3e}", result.relative_residual),
                            fmt::format("{:.3e}", result.history.back().relative_residual),
                            fmt::format("{:.3g}", result.seconds),
                            message});
  }
  return content;
}

std::string headline(const SolutionContents& contents) {
  if (contents.columns.size() == 1) return solver_and_end(contents.columns.front());
  const auto converged =
      std::count_if(contents.columns.begin(), contents.columns.end(), [](const SolveResult& one) {
        return one.end == SolveEnd::kConverged;
      });
  return fmt::format("{} of {} right-hand sides converged", converged, contents.columns.size());
}

}  // namespace

Chart residual_chart(const SolutionContents& contents) {
  Chart chart;
  chart.name = "residuals";
  chart.x = {"iteration", Scale::kLinear, {}};
  chart.y = {"|b - A x| / |b|", Scale::kLog, {}};
  for (std::size_t i = 0; i < contents.columns.size(); ++i)
    chart.series.push_back(residual_line(contents, i));
  ChartSeries tolerance;
  tolerance.title = "tolerance";
  tolerance.points = {{0, contents.tolerance}, {last_iteration(contents), contents.tolerance}};
  tolerance.dashed = true;
  chart.series.push_back(tolerance);
  return chart;
}

Page solution_page(const SolutionContents& contents) {
  Page page;
  page.title = contents.path;
  page.subtitle = "Solution of a linear system";
  page.findings = {headline(contents) + "."};
  page.facts = {{"matrix", contents.matrix},
                {"right-hand sides", contents.right_side},
                {"preconditioner", contents.preconditioner},
                {"tolerance", fmt::format("{:g}", contents.tolerance)}};
  if (contents.shift != 0)
    page.facts.emplace_back("shift", fmt::format("{:g} on the diagonal", contents.shift));
  page.sections = {{"residuals",
                    "Residuals",
                    {chart_figure(draw_for_page(residual_chart(contents)),
                                  "|b − A x| / |b| after each iteration, from the recurrence of "
                                  "the solver. The residual in the table is computed from x.",
                                  headline(contents)),
                     table(page_table(contents))}},
                   {"repeat",
                    "How to repeat it",
                    {code_block(contents.command),
                     fact_list({{"version", "matapprox " + version()},
                                {"machine", machine_description()},
                                {"date", time_of_page()}})}}};
  page.footer = footer_of_page();
  return page;
}

std::string solution_table(const SolutionContents& contents) {
  std::string text = fmt::format(
      "{}: {}\npreconditioner: {}\n\n{:>6}  {:<6}  {:<14}  {:>10}  {:>9}  {:>10}  {:>8}\n",
      visible_text(contents.path),
      visible_text(contents.matrix),
      visible_text(contents.preconditioner),
      "column",
      "solver",
      "ended",
      "iterations",
      "residual",
      "recurrence",
      "seconds");
  std::string messages;
  for (std::size_t i = 0; i < contents.columns.size(); ++i) {
    const SolveResult& result = contents.columns[i];
    text += fmt::format("{:>6}  {:<6}  {:<14}  {:>10}  {:>9.3e}  {:>10.3e}  {:>8.2e}\n",
                        i + 1,
                        enum_name(result.solver),
                        enum_name(result.end),
                        result.iterations,
                        result.relative_residual,
                        result.history.back().relative_residual,
                        result.seconds);
    if (!result.message.empty())
      messages += fmt::format("column {}: {}\n", i + 1, visible_text(result.message));
  }
  return text +
         "\nresidual: |b - A x| / |b| computed from x; recurrence: the value tracked by the "
         "solver\n" +
         messages;
}

Json to_json(const SolveResult& result) {
  Json json;
  json["solver"] = enum_name(result.solver);
  json["end"] = enum_name(result.end);
  json["message"] = result.message;
  json["iterations"] = result.iterations;
  json["relative_residual"] = result.relative_residual;
  json["recurrence_residual"] = result.history.back().relative_residual;
  json["seconds"] = result.seconds;
  json["history"] = Json::array();
  for (const ResidualPoint& point : result.history)
    json["history"].push_back({point.iteration, point.seconds, point.relative_residual});
  return json;
}

}  // namespace matapprox::report
