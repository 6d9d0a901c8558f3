#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/palette.hpp"
#include "report/ticks.hpp"

namespace matapprox::report {

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
/// (palette.hpp), with unique ids, in a wide form and in one for phones. The legend is left to the
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
