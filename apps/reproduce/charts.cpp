#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "matapprox/io/matrix_files.hpp"
#include "reproduce/paper_tables.hpp"

namespace matapprox::reproduction {
namespace {

using Points = std::vector<std::pair<double, double>>;

constexpr int kOursStyle = 0;
constexpr int kPaperStyle = 5;
constexpr int kOtherStyle = 2;

/// Below any error of interest; keeps a zero on a logarithmic axis.
constexpr double kMinRatio = 1e-6;

double ratio_now(const ReproducedRow& row) { return row.chord_error / row.tsvd.error; }

report::ChartSeries marks_only(const std::string& title, Points points, int style) {
  report::ChartSeries series = report::styled_series(title, std::move(points), style, 0);
  series.point_size = 1.1;
  return series;
}

report::ChartSeries level_line(double from, double to) {
  report::ChartSeries series;
  series.title = "TSVD";
  series.points = {{from, 1}, {to, 1}};
  series.dashed = true;
  return series;
}

Points ratios_of_other(const std::vector<const ReproducedRow*>& rows, std::size_t which) {
  Points points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double ratio = rows[i]->others[which].error / rows[i]->tsvd.error;
    points.emplace_back(static_cast<double>(i + 1), std::max(ratio, kMinRatio));
  }
  return points;
}

}  // namespace

report::Chart ratio_chart(const Reproduction& reproduction) {
  const auto rows = reproduction.finished();
  Points then;
  Points now;
  report::Chart chart;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto x = static_cast<double>(i + 1);
    if (rows[i]->paper.paper_sf())
      then.emplace_back(x, *rows[i]->paper.paper_sf() / *rows[i]->paper.paper_tsvd());
    now.emplace_back(x, std::max(ratio_now(*rows[i]), kMinRatio));
    if (i > 0 && rows[i]->paper.category != rows[i - 1]->paper.category)
      chart.lines.push_back({x - 0.5, ""});
  }
  const auto last = static_cast<double>(rows.size());
  chart.name = "ratio";
  chart.x = {"row of the tables", report::Scale::kLinear, std::pair{0.5, last + 0.5}};
  for (std::size_t i = 0; i < rows.size(); ++i)
    chart.x.names.push_back(fmt::format("{} {}", i + 1, rows[i]->paper.name));
  chart.y = {"SF error / TSVD error", report::Scale::kLog, std::nullopt};
  chart.series = {level_line(0.5, last + 0.5),
                  marks_only("SF, the paper's", then, kPaperStyle),
                  marks_only("SF, ours", now, kOursStyle)};
  const auto& patterns = reproduction.options.other_patterns;
  const auto best = std::find(patterns.begin(), patterns.end(), "auto");
  if (best != patterns.end()) {
    const auto which = static_cast<std::size_t>(best - patterns.begin());
    chart.series.push_back(
        marks_only("SF, ours, best pattern", ratios_of_other(rows, which), kOtherStyle));
  }
  return chart;
}

std::string category_rows(const Reproduction& reproduction) {
  const auto rows = reproduction.finished();
  std::string text;
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t last = first;
    while (last + 1 < rows.size() && rows[last + 1]->paper.category == rows[first]->paper.category)
      ++last;
    text += fmt::format(
        "{}{} {}", text.empty() ? "" : ", ", rows[first]->paper.category_title(), first + 1);
    if (last > first) text += fmt::format(" to {}", last + 1);
    first = last + 1;
  }
  return text;
}

std::string ratio_message(const Reproduction& reproduction) {
  std::vector<std::string> parts;
  for (const ReproducedRow* row : reproduction.finished())
    parts.push_back(fmt::format("{} {:.2g}", row->paper.name, ratio_now(*row)));
  return fmt::format("Our SF error divided by the TSVD error: {}.", fmt::join(parts, ", "));
}

report::Chart history_chart(const Reproduction& reproduction) {
  report::Chart chart;
  chart.name = "history";
  chart.x = {"seconds", report::Scale::kLog, std::nullopt};
  chart.y = {"SF error / TSVD error", report::Scale::kLog, std::nullopt};
  std::map<std::string, int> styles;
  double least = 1e300;
  double most = 0;
  for (const ReproducedRow* row : reproduction.finished()) {
    const bool is_first = !styles.contains(row->paper.category);
    const int style =
        styles.try_emplace(row->paper.category, 2 * static_cast<int>(styles.size()) % 7)
            .first->second;
    Points points;
    for (const HistoryPoint& point : row->history) {
      if (point.seconds <= 0) continue;
      const double error = point.relative_error * row->frobenius_norm / row->tsvd.error;
      points.emplace_back(point.seconds, std::max(error, kMinRatio));
      least = std::min(least, point.seconds);
      most = std::max(most, point.seconds);
    }
    report::ChartSeries series = report::styled_series(
        is_first ? row->paper.category_title() : "", std::move(points), style, 1.5);
    series.point_type = 0;
    chart.series.push_back(std::move(series));
  }
  if (most > 0) chart.series.push_back(level_line(least, most));
  return chart;
}

namespace {

constexpr Index kGap = 8;  // pixels of white between the panels

/// The size that all but one in 200 of the residuals stay below, so that a few dots do not make all
/// others white.
double dark_level(const Matrix& a, const Matrix& b) {
  std::vector<double> sizes(a.reshaped().begin(), a.reshaped().end());
  sizes.insert(sizes.end(), b.reshaped().begin(), b.reshaped().end());
  const auto place = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() * 199 / 200);
  std::nth_element(sizes.begin(), place, sizes.end());
  return *place;
}

Matrix all_columns(const LinearOperator& A) { return A.columns_at(index_range(0, A.cols())); }

}  // namespace

double write_contact_sheet(const std::string& path,
                           const LinearOperator& A,
                           const LinearOperator& tsvd,
                           const LinearOperator& chord) {
  const Matrix image = all_columns(A);
  const Matrix by_tsvd = all_columns(tsvd);
  const Matrix by_chord = all_columns(chord);
  const Matrix tsvd_residual = (image - by_tsvd).cwiseAbs();
  const Matrix chord_residual = (image - by_chord).cwiseAbs();
  const double scale = dark_level(tsvd_residual, chord_residual);
  const double to_gray = scale > 0 ? 255 / scale : 0;
  const std::array<Matrix, kContactSheetPanels> panels = {
      image,
      by_tsvd,
      by_chord,
      (255 - to_gray * tsvd_residual.array()).matrix(),
      (255 - to_gray * chord_residual.array()).matrix()};
  Matrix contact_sheet = Matrix::Constant(
      image.rows(), kContactSheetPanels * image.cols() + (kContactSheetPanels - 1) * kGap, 255);
  Index left = 0;
  for (const Matrix& panel : panels) {
    contact_sheet.middleCols(left, panel.cols()) = panel;
    left += panel.cols() + kGap;
  }
  write_png(path, contact_sheet);
  return scale;
}

Matrix contact_sheet_panel(const Matrix& contact_sheet, Index panel) {
  const Index width =
      (contact_sheet.cols() - (kContactSheetPanels - 1) * kGap) / kContactSheetPanels;
  return contact_sheet.middleCols(panel * (width + kGap), width);
}

}  // namespace matapprox::reproduction
