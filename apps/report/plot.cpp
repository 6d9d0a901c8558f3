#include "report/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <regex>

#include "report/gnuplot.hpp"

namespace matapprox::report {
namespace {

struct NamedStyle {
  std::string_view method;
  std::string_view shown;
  int style;
};
constexpr NamedStyle kNamedStyles[] = {
    {"truncated_svd", "truncated SVD", 0},
    {"truncated_svd_symmetric", "truncated SVD, symmetric", 1},
    {"nystrom", "Nyström", 2},
    {"jl_projection", "JL projection", 3},
    {"cur", "CUR", 4},
    {"chord", "Chord", 5},
    {"hierarchical", "hierarchical", 6},
    {"as_is", "as it is", kOtherStyle},
};

const NamedStyle* named_style(std::string_view method) {
  for (const NamedStyle& entry : kNamedStyles) {
    if (entry.method == method) return &entry;
  }
  return nullptr;
}

}  // namespace

int style_of(std::string_view method) {
  const NamedStyle* found = named_style(method);
  return found != nullptr ? found->style : kOtherStyle;
}

std::string shown_name(std::string_view method) {
  const NamedStyle* found = named_style(method);
  return std::string(found != nullptr ? found->shown : method);
}

namespace {

std::string superscript(int exponent) {
  static constexpr std::array<const char*, 10> kDigits{
      "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "⁻" : "";
  for (const char c : fmt::format("{}", std::abs(exponent)))
    text += kDigits[static_cast<std::size_t>(c - '0')];
  return text;
}

/// 1, 2 or 5 times a power of ten, at least `value`.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(std::pair<double, double> range, int wanted) {
  const double step = round_step((range.second - range.first) / std::max(wanted, 1));
  std::vector<double> values;
  // At most twice the wanted number, even if the range is narrower than rounding.
  const auto most = static_cast<std::size_t>(2 * std::max(wanted, 1) + 2);
  for (double k = std::ceil(range.first / step - 1e-9);
       k * step <= range.second * (1 + 1e-12) && values.size() < most;
       ++k) {
    values.push_back(k * step);
  }
  return values;
}

/// mantissas * 10^e within the range, every `stride`-th decade.
std::vector<double> decade_ticks(std::pair<double, double> range,
                                 const std::vector<double>& mantissas,
                                 int stride) {
  std::vector<double> values;
  const int first = static_cast<int>(std::floor(std::log10(range.first)));
  const int last = static_cast<int>(std::ceil(std::log10(range.second)));
  for (int e = first; e <= last; ++e) {
    if (e % stride != 0) continue;
    for (const double mantissa : mantissas) {
      const double value = mantissa * std::pow(10.0, e);
      if (value >= range.first * (1 - 1e-12) && value <= range.second * (1 + 1e-12))
        values.push_back(value);
    }
  }
  return values;
}

std::vector<double> log_ticks(std::pair<double, double> range, int wanted) {
  const double decades = std::log10(range.second / range.first);
  if (decades < 0.6) return linear_ticks(range, wanted);
  if (6 * decades <= wanted) return decade_ticks(range, {1, 1.5, 2, 3, 4, 5, 7}, 1);
  if (3 * decades <= wanted) return decade_ticks(range, {1, 2, 5}, 1);
  if (2 * decades <= wanted) return decade_ticks(range, {1, 3}, 1);
  return decade_ticks(range, {1}, std::max(1, static_cast<int>(std::ceil(decades / wanted))));
}

}  // namespace

std::pair<double, double> padded_range(const std::vector<double>& values, Scale scale) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (scale == Scale::kLog && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {1, 10};
  if (scale == Scale::kLog) {
    const double room = std::max(0.07 * std::log10(high / low), 0.06);
    return {std::max(low * std::pow(10.0, -room), std::numeric_limits<double>::min()),
            std::min(high * std::pow(10.0, room), std::numeric_limits<double>::max())};
  }
  const double room = high > low ? 0.04 * (high - low) : std::max(0.5, 0.05 * std::abs(high));
  return {low - room, high + room};
}

std::vector<Tick> ticks(std::pair<double, double> range, Scale scale, int wanted) {
  std::vector<Tick> result;
  for (const double value :
       scale == Scale::kLog ? log_ticks(range, wanted) : linear_ticks(range, wanted)) {
    // On a linear scale a small value is the rounding error of 0; on a log scale it is not.
    const bool is_zero =
        scale == Scale::kLinear && std::abs(value) < 1e-12 * (range.second - range.first);
    result.push_back({is_zero ? 0 : value, tick_label(is_zero ? 0 : value)});
  }
  return result;
}

std::string grouped(long long value) {
  std::string digits = fmt::format("{}", std::abs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (value < 0 ? "-" : "") + digits;
}

std::string tick_label(double value) {
  const double size = std::abs(value);
  if (value == 0) return "0";
  if (size >= 1000 && size < 1e6 && size == std::round(size)) return grouped(std::llround(value));
  if (size >= 1e-3 && size < 1e6) return fmt::format("{:.6g}", value);
  const int exponent = static_cast<int>(std::floor(std::log10(size) + 1e-9));
  const std::string mantissa = fmt::format("{:.6g}", value / std::pow(10.0, exponent));
  if (mantissa == "1") return "10" + superscript(exponent);
  return mantissa + "×10" + superscript(exponent);
}

std::string three_digits(double value) { return rounded_digits(value, 3); }

std::string rounded_digits(double value, int digits) {
  return tick_label(std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr));
}

namespace {

/// Size in the units of the drawing; `font` is the height of text in these units.
struct Canvas {
  int width;
  int height;
  int font;
  int x_ticks;
  int y_ticks;
  bool legend;
};
constexpr Canvas kFile{860, 480, 14, 8, 8, true};
constexpr Canvas kWide{960, 420, 14, 9, 8, false};
constexpr Canvas kNarrow{390, 330, 13, 4, 6, false};

/// Line and gap, short enough to be visible in the samples of a legend.
constexpr const char* kShortDashes = "(4,3)";

std::vector<double> shown_values(const Chart& chart, bool of_x) {
  std::vector<double> values;
  for (const ChartSeries& series : chart.series) {
    for (const auto& [x, y] : series.points) {
      const bool drawn =
          (chart.x.scale == Scale::kLinear || x > 0) && (chart.y.scale == Scale::kLinear || y > 0);
      if (drawn) values.push_back(of_x ? x : y);
    }
  }
  if (of_x) {
    for (const ChartLine& line : chart.lines) values.push_back(line.x);
  }
  return values;
}

/// True if names of rows fit: they are slanted, one under each tick, and need twice their height
/// each.
bool has_room_for_names(const ChartAxis& axis, const Canvas& canvas) {
  return !axis.names.empty() &&
         static_cast<int>(axis.names.size()) * 2 * canvas.font <= canvas.width;
}

std::vector<Tick> axis_ticks(const ChartAxis& axis,
                             const std::pair<double, double>& range,
                             int wanted,
                             bool named) {
  if (axis.names.empty()) return ticks(range, axis.scale, wanted);
  std::vector<Tick> marks;
  const std::size_t step = named ? 1 : axis.names.size() / static_cast<std::size_t>(wanted) + 1;
  for (std::size_t i = 0; i < axis.names.size(); i += step)
    marks.push_back({static_cast<double>(i + 1), named ? axis.names[i] : fmt::format("{}", i + 1)});
  return marks;
}

std::string axis_script(char letter,
                        const ChartAxis& axis,
                        const std::pair<double, double>& range,
                        const std::vector<Tick>& marks,
                        bool lean = false) {
  std::string tics;
  for (const Tick& tick : marks) {
    tics += fmt::format(
        "{}{} {:.17g}", tics.empty() ? "" : ", ", gnuplot_quoted(tick.label), tick.value);
  }
  return fmt::format(
      "{3}set {0}range [{1:.17g}:{2:.17g}] noextend\n"
      "set {0}tics {9}({4}) offset {7}\n"
      "set {0}label {5} offset {8} textcolor rgb '{6}'\n",
      letter,
      range.first,
      range.second,
      axis.scale == Scale::kLog ? fmt::format("set logscale {}\n", letter) : "",
      tics,
      gnuplot_quoted(lean ? "" : axis.label),
      kText.light,
      letter == 'x' ? "0,0.3" : "0.4,0",
      letter == 'x' ? "0,0.5" : "1.2,0",
      lean ? "rotate by 40 right " : "");
}

/// Left margin in characters; gnuplot's own estimate is half again as large.
double left_margin(const std::vector<Tick>& marks) {
  std::size_t longest = 0;
  for (const Tick& tick : marks) {
    const auto is_start = [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; };
    longest = std::max(
        longest,
        static_cast<std::size_t>(std::count_if(tick.label.begin(), tick.label.end(), is_start)));
  }
  return 4.5 + 0.9 * static_cast<double>(longest);
}

std::string lines_script(const Chart& chart) {
  std::string script;
  for (const ChartLine& line : chart.lines) {
    script += fmt::format(
        "set arrow from first {0:.17g}, graph 0 to first {0:.17g}, graph 1 nohead back dashtype 2 "
        "linewidth 1.2 linecolor rgb '{1}'\n"
        "set label {2} at first {0:.17g}, graph 1 center offset 0,0.6 textcolor rgb '{3}'\n",
        line.x,
        kAxis.light,
        gnuplot_quoted(line.label),
        kText.light);
  }
  return script;
}

std::string data_block(const Chart& chart, const ChartSeries& series, std::size_t number) {
  std::string block = fmt::format("$data{} << END\n", number);
  for (const auto& [x, y] : series.points) {
    const bool drawn = std::isfinite(x) && std::isfinite(y) &&
                       (chart.x.scale == Scale::kLinear || x > 0) &&
                       (chart.y.scale == Scale::kLinear || y > 0);
    if (drawn) block += fmt::format("{:.9g} {:.9g}\n", x, y);
  }
  return block + "END\n";
}

bool has_data(const Chart& chart, const ChartSeries& series) {
  for (const auto& [x, y] : series.points) {
    if ((chart.x.scale == Scale::kLinear || x > 0) && (chart.y.scale == Scale::kLinear || y > 0))
      return true;
  }
  return false;
}

std::string series_script(const ChartSeries& series, std::size_t number) {
  const auto part = [&](const std::string& how, const std::string& title) {
    return fmt::format(
        "$data{} using 1:2 with {} linecolor rgb '{}' {}", number, how, series.ink.light, title);
  };
  const std::string title =
      series.title.empty() ? "notitle" : "title " + gnuplot_quoted(series.title);
  const std::string line = fmt::format(
      "linewidth {} dashtype {}", series.line_width, series.dashed ? kShortDashes : "1");
  const std::string points =
      fmt::format("pointtype {} pointsize {}", series.point_type, series.point_size);
  if (series.steps) {
    return series.point_type == 0
               ? part("steps " + line, title)
               : part("steps " + line, "notitle") + ", " + part("points " + points, title);
  }
  if (series.line_width == 0) return part("points " + points, title);
  if (series.point_type == 0) return part("lines " + line, title);
  return part("linespoints " + line + " " + points, title);
}

std::string legend_script() {
  return fmt::format(
      "set key below center horizontal maxcols 4 Left reverse samplen 2 width 1 height 0.7 "
      "spacing 1.3 textcolor rgb '{}'",
      kText.light);
}

/// The script without terminal and output.
std::string body_script(const Chart& chart, const Canvas& canvas) {
  const auto x_range =
      chart.x.range.value_or(padded_range(shown_values(chart, true), chart.x.scale));
  const auto y_range =
      chart.y.range.value_or(padded_range(shown_values(chart, false), chart.y.scale));
  std::string script = fmt::format(
      "set border 3 linecolor rgb '{0}' linewidth 1\n"
      "set tics nomirror out scale 0.5 textcolor rgb '{1}'\n"
      "set grid xtics ytics back linetype 1 dashtype 1 linewidth 1 linecolor rgb '{2}'\n"
      "{3}\n",
      kAxis.light,
      kText.light,
      kGrid.light,
      canvas.legend ? legend_script() : "unset key");
  const std::vector<Tick> y_marks = ticks(y_range, chart.y.scale, canvas.y_ticks);
  const bool named = has_room_for_names(chart.x, canvas);
  script += axis_script(
      'x', chart.x, x_range, axis_ticks(chart.x, x_range, canvas.x_ticks, named), named);
  script += axis_script('y', chart.y, y_range, y_marks);
  script += fmt::format("set lmargin {}\nset rmargin 3\n", left_margin(y_marks));
  script += lines_script(chart);
  if (!chart.lines.empty()) script += "set tmargin 2\n";
  std::string plots;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    if (!has_data(chart, chart.series[i])) continue;
    script += data_block(chart, chart.series[i], i);
    plots += (plots.empty() ? "plot " : ", ") + series_script(chart.series[i], i);
  }
  // Without any data, only the frame is drawn.
  return script + (plots.empty() ? "plot NaN notitle" : plots) + "\nunset output\n";
}

/// Without `enhanced`, _ and ^ in names are printed literally.
std::string svg_terminal(const Canvas& canvas, const std::string& name, bool on_white) {
  return fmt::format(
      "set encoding utf8\n"
      "set terminal svg noenhanced size {},{} dynamic font 'sans-serif,{}' name '{}'{}\n",
      canvas.width,
      canvas.height,
      canvas.font,
      name,
      on_white ? " background rgb 'white'" : "");
}

std::string output_script(const ScratchFolder& folder, const char* file) {
  return fmt::format("set output {}\n", gnuplot_quoted(folder.file(file)));
}

/// gnuplot's "rgb( 27,  95, 176)".
std::string gnuplot_color(const std::string& hex) {
  const auto channel = [&](int at) { return std::stoi(hex.substr(1 + 2 * at, 2), nullptr, 16); };
  return fmt::format("rgb({:3}, {:3}, {:3})", channel(0), channel(1), channel(2));
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

void use_variable(std::string& svg, const Ink& ink) {
  const std::string variable = fmt::format("var({})", ink.variable);
  const std::string spaced = gnuplot_color(ink.light);
  replace_all(svg, spaced, variable);
  std::string tight = spaced;  // text has the same color without blanks
  replace_all(tight, " ", "");
  replace_all(svg, tight, variable);
}

/// Turns an SVG file of gnuplot into a part of a page: no prolog, colors by variable, unique ids.
std::string page_part(std::string svg, const std::string& name) {
  svg.erase(0, svg.find("<svg"));
  svg = std::regex_replace(svg,
                           std::regex(R"(<title>[^<]*</title>\s*<desc>[^<]*</desc>\s*)"),
                           "",
                           std::regex_constants::format_first_only);
  // HTML does not need the namespaces, and a page that loads nothing should contain no addresses.
  svg = std::regex_replace(svg, std::regex(R"(\s+xmlns(:xlink)?="[^"]*")"), "");
  replace_all(svg, "xlink:href", "href");
  for (std::size_t at = svg.find("<filter"); at != std::string::npos; at = svg.find("<filter"))
    svg.erase(at, svg.find("</filter>") + 9 - at);  // for text boxes, which are not used
  svg = std::regex_replace(svg, std::regex(R"(\bid=(['"]))"), "id=$1" + name + "-");
  replace_all(svg, "href='#", "href='#" + name + "-");
  for (const Ink& ink : {kText, kAxis, kGrid, kFront, kNeutral}) use_variable(svg, ink);
  for (const Style& style : kStyles) use_variable(svg, style.ink);
  replace_all(svg, "stroke-width='0.190'", "stroke-width='0.35'");  // for open marks
  replace_all(svg, "font-family=\"sans-serif\"", "");
  return svg;
}

const char* legend_mark(const ChartSeries& series) {
  for (const Style& style : kStyles) {
    if (style.point_type == series.point_type) return style.mark;
  }
  return "•";
}

/// Marks first, then the lines without marks.
std::vector<LegendEntry> legend_of(const Chart& chart) {
  std::vector<LegendEntry> entries;
  for (const bool lines : {false, true}) {
    for (const ChartSeries& series : chart.series) {
      const bool is_line = series.point_type == 0;
      if (series.title.empty() || is_line != lines || !has_data(chart, series)) continue;
      entries.push_back({series.title,
                         series.ink,
                         legend_mark(series),
                         is_line ? series.line_width : 0,
                         series.dashed});
    }
  }
  return entries;
}

}  // namespace

ChartSeries styled_series(std::string title,
                          std::vector<std::pair<double, double>> points,
                          int style,
                          double line_width) {
  const Style& look = kStyles[static_cast<std::size_t>(style)];
  ChartSeries series;
  series.title = std::move(title);
  series.points = std::move(points);
  series.ink = look.ink;
  series.point_type = look.point_type;
  series.line_width = line_width;
  return series;
}

ChartSeries numbered_series(std::string title,
                            std::vector<std::pair<double, double>> points,
                            std::size_t number) {
  const std::size_t looks = kStyles.size();
  ChartSeries series =
      styled_series(std::move(title), std::move(points), static_cast<int>(number % looks));
  series.dashed = number / looks % 2 == 1;
  return series;
}

DrawnChart draw_for_page(const Chart& chart) {
  const ScratchFolder folder;
  const auto draw = [&](const Canvas& canvas, const char* file) {
    return svg_terminal(canvas, chart.name, false) + output_script(folder, file) +
           body_script(chart, canvas);
  };
  run_gnuplot(draw(kWide, "wide") + "reset\n" + draw(kNarrow, "narrow"));
  return {chart.name,
          page_part(folder.read("wide"), chart.name + "-w"),
          page_part(folder.read("narrow"), chart.name + "-n"),
          legend_of(chart)};
}

ChartFiles draw_files(const Chart& chart) {
  const ScratchFolder folder;
  const std::string png_terminal = fmt::format(
      "set terminal pngcairo noenhanced size {},{} font 'Sans,{}' linewidth 2 pointscale 2 "
      "background rgb 'white'\n",
      2 * kFile.width,
      2 * kFile.height,
      3 * kFile.font / 2);
  run_gnuplot(svg_terminal(kFile, chart.name, true) + output_script(folder, "svg") +
              body_script(chart, kFile) + "reset\n" + png_terminal + output_script(folder, "png") +
              body_script(chart, kFile));
  return {folder.read("svg"), folder.read("png")};
}

}  // namespace matapprox::report
