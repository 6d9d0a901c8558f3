#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "matapprox/factors/packing.hpp"
#include "report/best_page.hpp"
#include "report/comparison_page.hpp"

namespace matapprox::report {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr int kCurvePoints = 60;

double floored(double error) { return std::max(error, kErrorFloor); }

bool has_point(const BestCandidate& candidate) {
  return candidate.relative_error && std::isfinite(*candidate.relative_error) &&
         candidate.storage && candidate.storage->bytes > 0;
}

ChartSeries plain_line(std::string title, Points points, Ink ink = kNeutral) {
  ChartSeries line;
  line.title = std::move(title);
  line.points = std::move(points);
  line.ink = ink;
  line.dashed = true;
  return line;
}

/// Bytes from a tenth of the smallest candidate to ten times the largest.
std::pair<double, double> byte_range(const BestContents& contents) {
  double low = INFINITY;
  double high = 0;
  for (const BestCandidate& candidate : contents.result.candidates) {
    if (!has_point(candidate)) continue;
    const auto bytes = static_cast<double>(candidate.storage->bytes);
    low = std::min(low, bytes);
    high = std::max(high, bytes);
  }
  return {low / 4, 2 * high};
}

ChartSeries low_rank_curve(const BestContents& contents, const Spectrum& spectrum) {
  const MatrixFacts& facts = contents.result.facts;
  ChartSeries line = plain_line("low rank, at least", {}, kFront);
  line.dashed = false;
  line.line_width = 5;
  if (spectrum.values.size() == 0 || !(spectrum.values(0) > 0)) return line;
  const auto [low, high] = byte_range(contents);
  for (int k = 0; k <= kCurvePoints && low > 0 && high > low; ++k) {
    const double bytes = low * std::pow(high / low, static_cast<double>(k) / kCurvePoints);
    const double error =
        packing_error(
            spectrum.values, facts.frobenius_norm, facts.rows, facts.cols, facts.symmetric, bytes)
            .at_least;
    line.points.emplace_back(bytes, floored(error));
  }
  return line;
}

/// Adds the target error as a line from `first` to `last`, if there is a target.
void add_target(const BestContents& contents, double first, double last, Chart& chart) {
  const double target = contents.options.target_error;
  if (target == 0) return;
  const bool spectral = contents.options.norm == CertifiedNorm::kSpectral;
  chart.series.push_back(plain_line(spectral ? "target error, spectral norm" : "target error",
                                    {{first, target}, {last, target}}));
}

}  // namespace

int candidate_style(std::size_t candidate) { return static_cast<int>(candidate % kOtherStyle); }

Chart error_bytes_chart(const BestContents& contents, const Spectrum& spectrum) {
  const BestResult& result = contents.result;
  Chart chart;
  chart.name = "error_bytes";
  chart.x = {"stored bytes", Scale::kLog, {}};
  chart.y = {"relative Frobenius error", Scale::kLog, {}};
  chart.series.push_back(low_rank_curve(contents, spectrum));
  const auto [low, high] = byte_range(contents);
  if (contents.options.norm == CertifiedNorm::kFrobenius) add_target(contents, low, high, chart);
  if (result.lower_bound && *result.lower_bound > 0) {
    const auto bytes = static_cast<double>(result.approximation.storage().bytes);
    chart.series.push_back(plain_line(
        "lower bound", {{low, *result.lower_bound}, {bytes, *result.lower_bound}}, kText));
  }
  for (std::size_t c = 0; c < result.candidates.size(); ++c) {
    const BestCandidate& candidate = result.candidates[c];
    if (!has_point(candidate)) continue;
    const auto bytes = static_cast<double>(candidate.storage->bytes);
    ChartSeries mark = styled_series(candidate.name + (candidate.chosen ? " (chosen)" : ""),
                                     {{bytes, floored(*candidate.relative_error)}},
                                     candidate_style(c),
                                     0);
    mark.point_size = candidate.chosen ? 1.7 : 1.1;
    chart.series.push_back(mark);
  }
  const StorageBudget& budget = contents.options.budget;
  if (budget.is_set() && budget.unit != StorageBudget::Unit::kNumbers)
    chart.lines.push_back({budget.bytes(result.facts.rows, result.facts.cols), "budget"});
  return chart;
}

Chart expectation_chart(const BestContents& contents) {
  const BestResult& result = contents.result;
  Chart chart;
  chart.name = "expectation";
  chart.y = {"relative error", Scale::kLog, {}};
  const bool spectral = contents.options.norm == CertifiedNorm::kSpectral;
  ChartSeries expected = styled_series("at least, by singular values", {}, 1, 0);
  ChartSeries measured = styled_series("measured", {}, 0, 0);
  ChartSeries bound = styled_series(spectral ? "certified, spectral norm" : "certified", {}, 3, 0);
  for (const BestCandidate& candidate : result.candidates) {
    if (!candidate.predicted_error && !has_point(candidate)) continue;
    chart.x.names.push_back(candidate.name);
    const auto at = static_cast<double>(chart.x.names.size());
    if (candidate.predicted_error)
      expected.points.emplace_back(at, floored(*candidate.predicted_error));
    if (has_point(candidate)) measured.points.emplace_back(at, floored(*candidate.relative_error));
    std::optional<double> certified = candidate.certified_error;
    const auto& certificate = result.measurement.certificate;
    if (candidate.chosen && !certified && certificate && certificate->products > 0)
      certified = certificate->relative;
    if (certified) bound.points.emplace_back(at, floored(*certified));
  }
  const auto count = static_cast<double>(chart.x.names.size());
  chart.x.range = {0.5, std::max(count, 1.0) + 0.5};
  add_target(contents, 0.5, count + 0.5, chart);
  for (ChartSeries* series : {&expected, &measured, &bound}) {
    series->point_size = 1.3;
    if (!series->points.empty()) chart.series.push_back(*series);
  }
  return chart;
}

Chart component_chart(const BestContents& contents,
                      const Spectrum& spectrum,
                      const std::vector<StoredComponent>& components) {
  Chart chart;
  chart.name = "components";
  chart.x = {"index of the singular value or component", Scale::kLog, {}};
  chart.y = {"share of |A| (Frobenius)", Scale::kLog, {}};
  const double norm = contents.result.facts.frobenius_norm;
  ChartSeries curve;
  curve.title = "singular values of A";
  curve.ink = kFront;
  curve.line_width = 5;
  for (Index k = 0; k < spectrum.values.size() && norm > 0; ++k)
    curve.points.emplace_back(static_cast<double>(k + 1), floored(spectrum.values(k) / norm));
  chart.series.push_back(curve);
  if (components.empty() || !(norm > 0)) return chart;
  std::map<int, Points, std::greater<>> by_bits;
  for (std::size_t k = 0; k < components.size(); ++k) {
    by_bits[components[k].bits].emplace_back(static_cast<double>(k + 1),
                                             floored(components[k].size / norm));
  }
  int style = 0;
  for (const auto& [bits, points] : by_bits) {
    ChartSeries marks = styled_series(fmt::format("{} bits", bits), points, style, 0);
    marks.point_size = components.size() > 100 ? 0.5 : 0.8;
    chart.series.push_back(marks);
    style = (style + 1) % static_cast<int>(kStyles.size());
  }
  const double level = floored(components.back().size / norm);
  const auto last =
      static_cast<double>(std::max(static_cast<Index>(components.size()), spectrum.values.size()));
  chart.series.push_back(
      plain_line("threshold: no bits below it", {{1, level}, {std::max(last, 2.0), level}}, kText));
  return chart;
}

}  // namespace matapprox::report
