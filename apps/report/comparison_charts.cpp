#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/comparison_page.hpp"

namespace matapprox::report {
namespace {

constexpr double kSmallestTime = 1e-5;  // seconds: the resolution of the clock

double drawn_error(double error) { return std::max(error, kErrorFloor); }

/// Points of a curve, at most about 600.
std::vector<std::pair<double, double>> curve_of(const Vector& values) {
  std::vector<std::pair<double, double>> points;
  const Index stride = std::max<Index>(1, values.size() / 600);
  const double largest = values.size() == 0 ? 1.0 : values(0);
  for (Index k = 0; k < values.size(); k += stride)
    points.emplace_back(static_cast<double>(k + 1), values(k) / largest);
  return points;
}

/// A mark on the curve at a method's rank, with the height of its stem.
struct RankMark {
  double rank;
  double height;
};

/// Raises a mark until it covers no other one.
double free_height(
    const std::vector<RankMark>& marks, double rank, double height, double reach, double step) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const RankMark& mark : marks) {
      const bool near = std::abs(mark.rank - rank) < reach &&
                        std::abs(std::log(mark.height / height)) < 0.9 * std::log(step);
      if (!near) continue;
      height = mark.height * step;
      moved = true;
    }
  }
  return height;
}

void add_rank_marks(const Comparison& comparison, const Vector& values, Chart& chart) {
  const double low = chart.y.range->first;
  const double step = std::pow(chart.y.range->second / low, 0.055);
  const double reach = 0.022 * static_cast<double>(values.size());
  std::vector<RankMark> marks;
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.ok() || !row.rank || *row.rank > values.size()) continue;
    const auto rank = static_cast<double>(*row.rank);
    const double value = std::max(values(*row.rank - 1) / values(0), low * step);
    const double height = free_height(marks, rank, value, reach, step);
    marks.push_back({rank, height});
    ChartSeries stem = styled_series("", {{rank, low}, {rank, height}}, style_of(row.method), 1);
    stem.point_type = 0;
    stem.dashed = true;
    chart.series.push_back(stem);
    ChartSeries mark = styled_series(fmt::format("{}, rank {}", shown_name(row.method), *row.rank),
                                     {{rank, height}},
                                     style_of(row.method),
                                     0);
    mark.point_size = 1.2;
    chart.series.push_back(mark);
  }
}

std::vector<std::string> methods_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.method != "as_is") names.push_back(row.method);
  }
  return names;
}

void add_front(const StorageSweep& sweep, Chart& chart) {
  ChartSeries front;
  front.title = "Pareto front";
  front.ink = kFront;
  front.line_width = 7;
  front.steps = true;
  for (const SweepPoint& point : pareto_front(sweep.points)) {
    front.points.emplace_back(static_cast<double>(point.bytes), drawn_error(point.relative_error));
  }
  if (front.points.size() > 1) chart.series.push_back(front);
}

/// Adds lines at the storage of the full matrix, of the given form, and of the values of the
/// nonzeros, unless that is close to the given form.
void add_storage_lines(const Comparison& comparison, Chart& chart) {
  const MatrixFacts& facts = comparison.facts;
  const double full = 8 * static_cast<double>(facts.rows) * static_cast<double>(facts.cols);
  chart.lines.push_back({full, facts.rows == facts.cols ? "8 N²" : "full"});
  double given = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.method != "as_is" || !row.storage) continue;
    given = static_cast<double>(row.storage->bytes);
    if (given > 0 && given < 0.7 * full) chart.lines.push_back({given, "as given"});
  }
  const double nonzeros = 8 * static_cast<double>(facts.nonzeros.value_or(0));
  const bool nearby = given > 0 && std::max(given / nonzeros, nonzeros / given) < 3;
  if (nonzeros > 0 && nonzeros < 0.7 * full && !nearby)
    chart.lines.push_back({nonzeros, "non-zeros"});
}

void add_timed(const ComparisonRow& row, const FitRecord* record, Chart& chart) {
  const double error = drawn_error(*row.measurement->relative_error);
  const double seconds = std::max(*row.fit_seconds, kSmallestTime);
  const int style = style_of(row.method);
  if (record != nullptr && record->history.size() > 1) {
    ChartSeries line = styled_series("", {}, style);
    line.point_type = 0;
    line.steps = true;
    for (const HistoryPoint& point : record->history) {
      if (point.seconds > seconds || !std::isfinite(point.relative_error)) continue;
      line.points.emplace_back(std::max(point.seconds, kSmallestTime),
                               drawn_error(point.relative_error));
    }
    line.points.emplace_back(seconds, error);
    chart.series.push_back(line);
  }
  ChartSeries mark = styled_series(shown_name(row.method), {{seconds, error}}, style, 0);
  mark.point_size = 1.2;
  chart.series.push_back(mark);
}

}  // namespace

Chart spectrum_chart(const Comparison& comparison, const Spectrum& spectrum) {
  Chart chart;
  chart.name = "singular_values";
  chart.x = {"number k of the singular value", Scale::kLinear, {}};
  chart.y = {"k-th singular value / largest", Scale::kLog, {}};
  ChartSeries curve;
  curve.title = "singular values";
  const bool any = spectrum.values.size() > 0 && spectrum.values(0) > 0;
  if (any) curve.points = curve_of(spectrum.values);
  std::vector<double> shown{1.0};
  for (auto& [k, value] : curve.points) {
    value = std::max(value, kErrorFloor / 10);
    shown.push_back(value);
  }
  chart.y.range = padded_range(shown, Scale::kLog);
  chart.series.push_back(curve);
  if (any) add_rank_marks(comparison, spectrum.values, chart);
  return chart;
}

Chart storage_chart(const Comparison& comparison, const StorageSweep& sweep) {
  Chart chart;
  chart.name = "error_storage";
  chart.x = {"stored bytes", Scale::kLog, {}};
  chart.y = {"relative Frobenius error", Scale::kLog, {}};
  add_front(sweep, chart);
  for (const std::string& method : methods_of(comparison)) {
    ChartSeries series = styled_series(shown_name(method), {}, style_of(method));
    for (const SweepPoint& point : sweep.points) {
      if (point.method != method) continue;
      series.points.emplace_back(static_cast<double>(point.bytes),
                                 drawn_error(point.relative_error));
    }
    std::sort(series.points.begin(), series.points.end());
    chart.series.push_back(series);
  }
  add_storage_lines(comparison, chart);
  return chart;
}

Chart time_chart(const Comparison& comparison, const FitRecords& records) {
  Chart chart;
  chart.name = "error_time";
  chart.x = {"seconds of the fit", Scale::kLog, {}};
  chart.y = {"relative Frobenius error", Scale::kLog, {}};
  for (const ComparisonRow& row : comparison.rows) {
    if (!row.ok() || row.method == "as_is" || !row.measurement->relative_error) continue;
    add_timed(row, records.find(row.method), chart);
  }
  return chart;
}

}  // namespace matapprox::report
