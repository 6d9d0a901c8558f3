#include "report/heat_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "matapprox/io/matrix_files.hpp"
#include "matapprox/operators/lazy.hpp"
#include "report/gnuplot.hpp"
#include "report/plot.hpp"

namespace matapprox::report {
namespace {

constexpr double kLargestWhole = 64e6;  // entries

using Stop = unsigned;  // 0xRRGGBB; the stops of a map are equally spaced
// ColorBrewer RdBu (reversed) and PRGn: neutral in the middle, safe for color-blind readers.
constexpr std::array<Stop, 11> kBlueRed{0x053061,
                                        0x2166ac,
                                        0x4393c3,
                                        0x92c5de,
                                        0xd1e5f0,
                                        0xf7f7f7,
                                        0xfddbc7,
                                        0xf4a582,
                                        0xd6604d,
                                        0xb2182b,
                                        0x67001f};
constexpr std::array<Stop, 11> kPurpleGreen{0x40004b,
                                            0x762a83,
                                            0x9970ab,
                                            0xc2a5cf,
                                            0xe7d4e8,
                                            0xf7f7f7,
                                            0xd9f0d3,
                                            0xa6dba0,
                                            0x5aae61,
                                            0x1b7837,
                                            0x00441b};
// ColorBrewer YlGnBu, starting at white.
constexpr std::array<Stop, 9> kWhiteBlue{
    0xffffff, 0xedf8b1, 0xc7e9b4, 0x7fcdbb, 0x41b6c4, 0x1d91c0, 0x225ea8, 0x253494, 0x081d58};
constexpr std::array<unsigned char, 3> kMarkColor{0x8a, 0x8f, 0x98};
constexpr std::array<Stop, 2> kBlackWhite{0x000000, 0xffffff};

std::span<const Stop> stops_of(ColorMap map) {
  switch (map) {
    case ColorMap::kGray:
      return kBlackWhite;
    case ColorMap::kResidual:
      return kPurpleGreen;
    case ColorMap::kRising:
      return std::span(kBlueRed).subspan(5);
    case ColorMap::kRisingResidual:
      return std::span(kPurpleGreen).subspan(5);
    case ColorMap::kBits:
      return kWhiteBlue;
    case ColorMap::kDiverging:
      break;
  }
  return kBlueRed;
}

images::PngPalette png_palette(ColorMap map) {
  const std::span<const Stop> stops = stops_of(map);
  images::PngPalette palette{};
  for (std::size_t i = 0; i < palette.size(); ++i) {
    const double at = static_cast<double>(i) / 255 * static_cast<double>(stops.size() - 1);
    const std::size_t left = std::min(static_cast<std::size_t>(at), stops.size() - 2);
    for (std::size_t c = 0; c < 3; ++c) {
      const auto channel = [&](Stop stop) { return (stop >> (8 * (2 - c))) & 0xffU; };
      const double share = at - static_cast<double>(left);
      const double value = (1 - share) * channel(stops[left]) + share * channel(stops[left + 1]);
      palette[i][c] = static_cast<unsigned char>(std::lround(value));
    }
  }
  return palette;
}

unsigned char pixel_of(double value, const ColorScale& scale) {
  return static_cast<unsigned char>(
      std::lround(255 * std::clamp(scale_position(scale, value), 0.0, 1.0)));
}

Index cells_along(Index size, Index block) { return (size + block - 1) / block; }

/// The middle entry of each block.
std::vector<Index> sample_of(Index size, Index block) {
  std::vector<Index> chosen;
  for (Index first = 0; first < size; first += block)
    chosen.push_back(std::min(first + block / 2, size - 1));
  return chosen;
}

Matrix sampled_cells(const LinearOperator& A, const ImagePlan& plan) {
  const std::vector<Index> rows = sample_of(plan.rows, plan.block);
  const Matrix columns = A.columns_at(sample_of(plan.cols, plan.block));
  return columns(rows, Eigen::all);
}

/// Adds the block sums of some columns of A to `cells`.
void add_panel(const Matrix& panel, Index first, bool absolute, Index block, Matrix& cells) {
  for (Index j = 0; j < panel.cols(); ++j) {
    for (Index i = 0; i < panel.rows(); ++i) {
      const double value = panel(i, j);
      cells(i / block, (first + j) / block) += absolute ? std::abs(value) : value;
    }
  }
}

/// Entries along one side of a block, which may be cut off at the lower and right border.
double entries_in(Index cell, Index block, Index size) {
  return static_cast<double>(std::min(block, size - cell * block));
}

Matrix mean_cells(const LinearOperator& A, const ImagePlan& plan, bool absolute) {
  constexpr Index kPanel = 64;
  Matrix cells =
      Matrix::Zero(cells_along(plan.rows, plan.block), cells_along(plan.cols, plan.block));
  for (Index first = 0; first < plan.cols; first += kPanel) {
    const Index count = std::min(kPanel, plan.cols - first);
    add_panel(A.columns_at(index_range(first, count)), first, absolute, plan.block, cells);
  }
  for (Index j = 0; j < cells.cols(); ++j) {
    for (Index i = 0; i < cells.rows(); ++i)
      cells(i, j) /= entries_in(i, plan.block, plan.rows) * entries_in(j, plan.block, plan.cols);
  }
  return cells;
}

Matrix cells_of(const LinearOperator& A, const ImagePlan& plan, bool absolute) {
  return plan.cells == Cells::kSampled ? sampled_cells(A, plan) : mean_cells(A, plan, absolute);
}

std::string palette_script(ColorMap map) {
  const std::span<const Stop> stops = stops_of(map);
  std::string text;
  for (std::size_t i = 0; i < stops.size(); ++i)
    text += fmt::format("{}{} '#{:06x}'", i == 0 ? "" : ", ", i, stops[i]);
  return fmt::format("set palette defined ({})\n", text);
}

/// Quantile of the values, which are reordered.
double quantile(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

/// The bytes that gnuplot reads: the rows of the image, one after another.
std::string row_bytes(const Matrix& cells) {
  std::string bytes(static_cast<std::size_t>(cells.size()) * sizeof(double), '\0');
  const Matrix transposed = cells.transpose();
  std::memcpy(bytes.data(), transposed.data(), bytes.size());
  return bytes;
}

}  // namespace

ImagePlan image_plan(Index rows, Index cols, bool is_image) {
  ImagePlan plan;
  plan.rows = rows;
  plan.cols = cols;
  plan.is_image = is_image;
  plan.block = cells_along(std::max(rows, cols), kLargestImage);
  if (plan.block == 1) return plan;
  const bool whole = static_cast<double>(rows) * static_cast<double>(cols) <= kLargestWhole;
  plan.cells = !whole ? Cells::kSampled : is_image ? Cells::kMeans : Cells::kAbsoluteMeans;
  return plan;
}

Matrix image_cells(const LinearOperator& A, const ImagePlan& plan) {
  return cells_of(A, plan, plan.cells == Cells::kAbsoluteMeans);
}

Matrix difference_cells(const LinearOperator& A, const LinearOperator& B, const ImagePlan& plan) {
  return cells_of(Difference(A, B), plan, plan.cells != Cells::kEntries);
}

std::string cells_text(const ImagePlan& plan, bool difference) {
  const bool absolute = difference || plan.cells == Cells::kAbsoluteMeans;
  switch (plan.cells) {
    case Cells::kEntries:
      return {};
    case Cells::kSampled:
      return fmt::format("each cell is one entry out of a block of {0} × {0}", plan.block);
    default:
      return fmt::format("each cell is the mean {0} of a block of {1} × {1} entries",
                         absolute ? "absolute value" : "value",
                         plan.block);
  }
}

ColorScale symmetric_scale(const std::vector<const Matrix*>& images, ColorMap map) {
  std::vector<double> sizes;
  for (const Matrix* cells : images) {
    for (Index k = 0; k < cells->size(); ++k) {
      const double size = std::abs(cells->data()[k]);
      if (size > 0 && std::isfinite(size)) sizes.push_back(size);
    }
  }
  const bool rising = map == ColorMap::kRising || map == ColorMap::kRisingResidual;
  if (sizes.empty()) return {map, rising ? 0.0 : -1.0, 1, 0};
  const double largest = quantile(sizes, 0.995);
  const double median = quantile(sizes, 0.5);
  return {map,
          rising ? 0 : -largest,
          largest,
          median < 0.1 * largest ? std::max(median, largest / 200) : 0};
}

ColorScale gray_scale(const Matrix& image) {
  const double largest = image.size() == 0 ? 1.0 : image.maxCoeff();
  double white = 1;
  for (const double candidate : {255.0, 65535.0}) {
    if (white < largest) white = candidate;
  }
  return {ColorMap::kGray, 0, std::max(white, largest), 0};
}

double scale_position(const ColorScale& scale, double value) {
  if (scale.soft <= 0) return (value - scale.low) / (scale.high - scale.low);
  const double share = std::asinh(value / scale.soft) / std::asinh(scale.high / scale.soft);
  return scale.low < 0 ? 0.5 + 0.5 * share : share;
}

double scale_value(const ColorScale& scale, double position) {
  if (scale.soft <= 0) return scale.low + position * (scale.high - scale.low);
  const double share = scale.low < 0 ? 2 * position - 1 : position;
  return scale.soft * std::sinh(share * std::asinh(scale.high / scale.soft));
}

std::vector<std::pair<double, std::string>> scale_marks(const ColorScale& scale) {
  std::vector<std::pair<double, std::string>> marks;
  for (const double position : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    const double value = scale_value(scale, position);
    // Labels in powers of ten are long, so the quarters are left out then.
    const bool is_quarter = position == 0.25 || position == 0.75;
    if (is_quarter && three_digits(std::abs(value)).size() > 8) continue;
    marks.emplace_back(position, value < 0 ? "−" + three_digits(-value) : three_digits(value));
  }
  return marks;
}

double clipped_share(const Matrix& cells, const ColorScale& scale) {
  if (cells.size() == 0) return 0;
  const double slack = 1e-9 * (scale.high - scale.low);
  const auto beyond =
      (cells.array() < scale.low - slack || cells.array() > scale.high + slack).count();
  return static_cast<double>(beyond) / static_cast<double>(cells.size());
}

std::string heat_map_png(const Matrix& cells, const ColorScale& scale) {
  std::vector<unsigned char> pixels;
  pixels.reserve(static_cast<std::size_t>(cells.size()));
  for (Index i = 0; i < cells.rows(); ++i) {
    for (Index j = 0; j < cells.cols(); ++j) pixels.push_back(pixel_of(cells(i, j), scale));
  }
  const images::PngPalette palette = png_palette(scale.map);
  return images::encode_png(pixels, cells.rows(), cells.cols(), "heat map", &palette);
}

std::string heat_map_png(const Matrix& cells, const ColorScale& scale, const CellMarks& marked) {
  constexpr unsigned char kMark = 255;
  std::vector<unsigned char> pixels;
  pixels.reserve(static_cast<std::size_t>(cells.size()));
  for (Index i = 0; i < cells.rows(); ++i) {
    for (Index j = 0; j < cells.cols(); ++j) {
      const unsigned char pixel = pixel_of(cells(i, j), scale);
      pixels.push_back(marked(i, j) ? kMark : std::min<unsigned char>(pixel, kMark - 1));
    }
  }
  images::PngPalette palette = png_palette(scale.map);
  palette[kMark] = kMarkColor;
  return images::encode_png(pixels, cells.rows(), cells.cols(), "heat map", &palette);
}

HeatMapFiles heat_map_files(const Matrix& cells,
                            const ColorScale& scale,
                            const std::string& title) {
  const ScratchFolder folder;
  folder.write(
      "cells",
      row_bytes(cells.unaryExpr([&](double value) { return scale_position(scale, value); })));
  std::string marks;
  for (const auto& [position, label] : scale_marks(scale))
    marks += fmt::format("{}{} {}", marks.empty() ? "" : ", ", gnuplot_quoted(label), position);
  const std::string body =
      palette_script(scale.map) +
      fmt::format(
          "set title {0}\nunset key\nunset tics\nset border linecolor rgb '#6b7280'\n"
          "set size ratio -1\nset xrange [-0.5:{1}.5]\nset yrange [{2}.5:-0.5]\n"
          "set cbrange [0:1]\nset cbtics out scale 0.5 ({3})\n"
          "plot {4} binary array=({5},{6}) format='%float64' using 1 with image notitle\n"
          "unset output\n",
          gnuplot_quoted(title),
          cells.cols() - 1,
          cells.rows() - 1,
          marks,
          gnuplot_quoted(folder.file("cells")),
          cells.cols(),
          cells.rows());
  run_gnuplot(
      fmt::format("set encoding utf8\nset terminal svg noenhanced size 640,560 dynamic font "
                  "'sans-serif,14' background rgb 'white'\nset output {}\n{}reset\n"
                  "set terminal pngcairo noenhanced size 1280,1120 font 'Sans,21' linewidth 2\n"
                  "set output {}\n{}",
                  gnuplot_quoted(folder.file("svg")),
                  body,
                  gnuplot_quoted(folder.file("png")),
                  body));
  return {folder.read("svg"), folder.read("png")};
}

namespace {

/// Columns x, y, text, color for gnuplot's `with labels`, the text in double quotes.
std::string label_lines(const SheetImage& image) {
  constexpr double kDark = 0.6;  // fraction of the distance to the end of the scale
  std::string lines;
  for (std::size_t k = 0; k < image.labels.size(); ++k) {
    std::string text = image.labels[k];
    if (text.empty()) continue;
    std::replace_if(
        text.begin(),
        text.end(),
        [](unsigned char c) { return c < ' ' || c == '"' || c == '\\' || c == 0x7f; },
        '\'');
    const Index row = static_cast<Index>(k) / image.cells.cols();
    const Index col = static_cast<Index>(k) % image.cells.cols();
    const double position = scale_position(image.scale, image.cells(row, col));
    const bool dark = (image.scale.low < 0 ? std::abs(2 * position - 1) : position) > kDark;
    lines += fmt::format("{} {} \"{}\" {}\n", col, row, text, dark ? 0xffffff : 0x1c2024);
  }
  return lines;
}

/// Script that draws one image of a contact sheet.
std::string sheet_image_script(const ScratchFolder& folder,
                               const std::string& name,
                               const SheetImage& image) {
  folder.write(name, row_bytes(image.cells.unaryExpr([&](double value) {
                 return scale_position(image.scale, value);
               })));
  std::string script =
      palette_script(image.scale.map) +
      fmt::format(
          "set title {}\nset ylabel {}\nset xrange [-0.5:{}.5]\nset yrange [{}.5:-0.5]\n"
          "plot {} binary array=({},{}) format='%float64' using 1 with image notitle",
          gnuplot_quoted(image.title),
          gnuplot_quoted(image.row_title),
          image.cells.cols() - 1,
          image.cells.rows() - 1,
          gnuplot_quoted(folder.file(name)),
          image.cells.cols(),
          image.cells.rows());
  if (!image.labels.empty()) {
    folder.write(name + "-labels", label_lines(image));
    script +=
        fmt::format(", {} using 1:2:3:4 with labels font label_font textcolor rgb variable notitle",
                    gnuplot_quoted(folder.file(name + "-labels")));
  }
  return script + "\n";
}

/// Width and height of an image of a contact sheet, in pixels of the SVG.
std::pair<int, int> sheet_image_size(const SheetImage& image) {
  const bool labeled = !image.labels.empty();
  const auto rows = static_cast<double>(image.cells.rows());
  const auto cols = static_cast<double>(image.cells.cols());
  if (labeled) return {static_cast<int>(64 * cols), static_cast<int>(20 * rows)};
  const double cell = 220 / std::max(rows, cols);
  return {static_cast<int>(std::ceil(cell * cols)), static_cast<int>(std::ceil(cell * rows))};
}

}  // namespace

HeatMapFiles image_sheet_files(const std::vector<std::vector<SheetImage>>& rows,
                               const std::string& title) {
  constexpr int kTop = 64;   // for the contact sheet's title and the images' titles
  constexpr int kLeft = 30;  // for the titles of rows
  constexpr int kGap = 12;
  const ScratchFolder folder;
  const auto [image_width, image_height] = sheet_image_size(rows.front().front());
  std::size_t columns = 0;
  for (const auto& row : rows) columns = std::max(columns, row.size());
  const int title_width = 8 * static_cast<int>(title.size());  // at most, in this font
  const int width = std::max(kLeft + static_cast<int>(columns) * (image_width + kGap), title_width);
  const int height = kTop + static_cast<int>(rows.size()) * (image_height + kGap);
  std::string body = fmt::format(
      "set multiplot title {}\nunset key\nunset tics\nunset colorbox\nset cbrange [0:1]\n"
      "set border linecolor rgb '#6b7280'\n",
      gnuplot_quoted(title));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      const int left = kLeft + static_cast<int>(c) * (image_width + kGap);
      const int top = kTop + static_cast<int>(r) * (image_height + kGap);
      body += fmt::format(
          "set lmargin at screen {}\nset rmargin at screen {}\n"
          "set tmargin at screen {}\nset bmargin at screen {}\n",
          static_cast<double>(left) / width,
          static_cast<double>(left + image_width) / width,
          1 - static_cast<double>(top) / height,
          1 - static_cast<double>(top + image_height) / height);
      body += sheet_image_script(folder, fmt::format("image-{}-{}", r, c), rows[r][c]);
    }
  }
  body += "unset multiplot\nunset output\n";
  run_gnuplot(fmt::format(
      "set encoding utf8\nset terminal svg noenhanced size {0},{1} dynamic font 'sans-serif,13' "
      "background rgb 'white'\nset output {2}\nlabel_font = ',10'\n{5}reset\n"
      "set terminal pngcairo noenhanced size {3},{4} font 'Sans,18' linewidth 2\n"
      "set output {6}\nlabel_font = ',15'\n{5}",
      width,
      height,
      gnuplot_quoted(folder.file("svg")),
      2 * width,
      2 * height,
      body,
      gnuplot_quoted(folder.file("png"))));
  return {folder.read("svg"), folder.read("png")};
}

std::string css_gradient(ColorMap map) {
  std::string stops;
  for (const Stop stop : stops_of(map)) stops += fmt::format(",#{:06x}", stop);
  return "linear-gradient(to right" + stops + ")";
}

}  // namespace matapprox::report
