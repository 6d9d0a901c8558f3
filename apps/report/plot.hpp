#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace matapprox::report {

// One color and one mark for each method, in every chart, table and caption. The colors follow
// Okabe and Ito's set for color-blind readers, darkened for 3:1 contrast on white; every series
// also has a mark of its own.

/// A color for light pages and for dark ones.
struct Ink {
  const char* variable;  ///< its CSS custom property
  const char* light;     ///< "#rrggbb"
  const char* dark;
};

constexpr Ink kText{"--ink", "#1c2024", "#e8eaed"};
constexpr Ink kAxis{"--axis", "#6b7280", "#9aa1ab"};
constexpr Ink kGrid{"--grid", "#e3e5e8", "#32363d"};
constexpr Ink kFront{"--front", "#c4c8ce", "#555b66"};
constexpr Ink kNeutral{"--neutral", "#4b5563", "#b6bcc6"};

/// Color, gnuplot point type and the nearest character of a series.
struct Style {
  Ink ink;
  int point_type;
  const char* mark;
};

constexpr std::array<Style, 8> kStyles{{
    {{"--series-0", "#1b5fb0", "#6cb2ff"}, 7, "●"},
    {{"--series-1", "#1d92c4", "#67d8f5"}, 6, "○"},
    {{"--series-2", "#008a66", "#3fd6a8"}, 9, "▲"},
    {{"--series-3", "#94700a", "#e6c04d"}, 11, "▼"},
    {{"--series-4", "#8d45b5", "#d3a2f7"}, 13, "◆"},
    {{"--series-5", "#cc4400", "#ff8f5e"}, 5, "■"},
    {{"--series-6", "#b0306a", "#ff8fbe"}, 4, "□"},
    {{"--series-7", "#4b5563", "#b6bcc6"}, 2, "×"},
}};
constexpr int kOtherStyle = 7;

/// Style of a method, or of a row such as truncated_svd_symmetric; kOtherStyle for a name that has
/// none.
int style_of(std::string_view method);
/// Display name of a method: "truncated SVD, symmetric".
std::string shown_name(std::string_view method);

enum class Scale { kLinear, kLog };

/// A range that holds all values with a little room at both ends; log scales ignore values that are
/// not positive. [1, 10] if there are no values.
std::pair<double, double> padded_range(const std::vector<double>& values, Scale scale);

struct Tick {
  double value = 0;
  std::string label;
};
/// At most about `wanted` round values within the range; on a log scale powers of ten, or 1-2-5
/// within a few decades.
std::vector<Tick> ticks(std::pair<double, double> range, Scale scale, int wanted);

/// A value as written on an axis: "0.05", "20,000", "10⁻⁶", "3×10⁸".
std::string tick_label(double value);

/// The value rounded to three digits, in the format of an axis: "0.0503", "6.81×10⁻⁷".
std::string three_digits(double value);
std::string rounded_digits(double value, int digits);

/// 1234567 -> "1,234,567".
std::string grouped(long long value);

// A chart as data, and the drawings that gnuplot makes of it.

struct ChartAxis {
  std::string label;
  Scale scale = Scale::kLinear;
  std::optional<std::pair<double, double>> range;  ///< empty: the range of the data
  /// Names at 1, 2, ... in place of numbers, if there is room for them; empty: numbers.
  std::vector<std::string> names{};
};

/// Points in the order in which they are joined. A log scale leaves out those that are not
/// positive.
struct ChartSeries {
  std::string title;  ///< in the legend; empty: no entry
  std::vector<std::pair<double, double>> points;
  Ink ink = kNeutral;
  int point_type = 0;  ///< gnuplot's point type; 0: no marks
  double point_size = 0.9;
  double line_width = 2;  ///< 0: marks only
  bool steps = false;     ///< each value holds until the next
  bool dashed = false;
};

/// A series in a style of the palette.
ChartSeries styled_series(std::string title,
                          std::vector<std::pair<double, double>> points,
                          int style,
                          double line_width = 2);

/// Series number 0, 1, ... of a chart with many: the styles of the palette in turn, dashed the
/// second time around.
ChartSeries numbered_series(std::string title,
                            std::vector<std::pair<double, double>> points,
                            std::size_t number);

/// A dashed vertical line with words above the frame.
struct ChartLine {
  double x = 0;
  std::string label;
};

struct Chart {
  std::string name;  ///< name of files and ids: "error_storage"; letters, digits, _
  ChartAxis x;
  ChartAxis y;
  std::vector<ChartSeries> series;
  std::vector<ChartLine> lines;
};

/// An entry of a legend.
struct LegendEntry {
  std::string title;
  Ink ink;
  const char* mark;       ///< the character nearest to its mark: "●", "▲"
  double line_width = 0;  ///< positive: a line without marks
  bool dashed = false;
};

/// A chart for a page: SVG markup without prolog whose colors are the page's CSS variables
///, with unique ids, in a wide form and in one for phones. The legend is left to the
/// page, which can break its lines.
struct DrawnChart {
  std::string name;
  std::string wide;
  std::string narrow;
  std::vector<LegendEntry> legend;
};
DrawnChart draw_for_page(const Chart& chart);

/// A chart as files: an SVG with fixed colors, on white, and a PNG of 1720 x 960 pixels.
struct ChartFiles {
  std::string svg;
  std::string png;
};
ChartFiles draw_files(const Chart& chart);

}  // namespace matapprox::report
