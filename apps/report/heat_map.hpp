#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::report {

// Matrices as images: reduced to at most kLargestImage cells per side, with one color scale for all
// images that are compared.

constexpr Index kLargestImage = 512;

/// Contents of one cell of an image.
enum class Cells {
  kEntries,        ///< an entry of the matrix
  kMeans,          ///< the mean of a block of entries
  kAbsoluteMeans,  ///< the mean absolute value of a block
  kSampled         ///< one entry of a block, for matrices so large that not all entries are
                   ///< computed
};

/// Reduction of the images of a matrix, its approximations and their differences.
struct ImagePlan {
  Index rows = 0;  ///< rows of the matrix
  Index cols = 0;
  Index block = 1;  ///< entries per side that become one cell
  Cells cells = Cells::kEntries;
  bool is_image = false;
};

/// Plan of an image: entries up to kLargestImage per side; above, block means of absolute values
/// (of the values for an image, which has no negative ones); above 64e6 entries a sample.
ImagePlan image_plan(Index rows, Index cols, bool is_image);

/// Cells of an image of A. Cost: all columns of A, or those of the sample.
Matrix image_cells(const LinearOperator& A, const ImagePlan& plan);
/// Cells of an image of A - B, whose block means are always of absolute values.
Matrix difference_cells(const LinearOperator& A, const LinearOperator& B, const ImagePlan& plan);

/// "each cell is the mean of |entries| of a block of 4 x 4"; empty for entries.
std::string cells_text(const ImagePlan& plan, bool difference);

enum class ColorMap {
  kGray,            ///< black to white
  kDiverging,       ///< blue, white at 0, red
  kResidual,        ///< purple, white at 0, green
  kRising,          ///< upper half of kDiverging: white at 0, red
  kRisingResidual,  ///< upper half of kResidual: white at 0, green
  kBits             ///< white at 0, yellow, green, blue
};

/// Values from low to high take the colors of the map; values beyond take its end colors.
struct ColorScale {
  ColorMap map = ColorMap::kDiverging;
  double low = -1;
  double high = 1;
  /// If positive (and low is 0 or -high), colors follow asinh(value / soft): linear up to about
  /// `soft`, logarithmic above, so that small entries beside large ones are visible.
  double soft = 0;
};
/// Position of a value on the scale, 0..1, and the inverse.
double scale_position(const ColorScale& scale, double value);
double scale_value(const ColorScale& scale, double position);
/// Labeled positions with their values: the ends, the middle, the quarters.
std::vector<std::pair<double, std::string>> scale_marks(const ColorScale& scale);

/// Scale for all the images: symmetric about 0, up to the 99.5 % quantile of the nonzero |cells|,
/// so that one huge entry does not make all others white. It is soft at the median or at 1/200 of
/// the quantile, whichever is larger, if the median is below a tenth of the quantile. [-1, 1] if
/// all cells are 0. The maps without negative values start at 0.
ColorScale symmetric_scale(const std::vector<const Matrix*>& images, ColorMap map);
/// Black at 0, white at the smallest of 1, 255 and 65535 that holds all values (255 for photos), or
/// at the largest value.
ColorScale gray_scale(const Matrix& image);

/// Share of the cells beyond the ends of the scale.
double clipped_share(const Matrix& cells, const ColorScale& scale);

/// A PNG with exactly one pixel per cell. It is not drawn by gnuplot, whose canvas is a pixel off
/// at the border; libpng with a palette is exact and a third of the size.
std::string heat_map_png(const Matrix& cells, const ColorScale& scale);
/// The same with `marked` cells, such as borders, in gray.
using CellMarks = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic>;
std::string heat_map_png(const Matrix& cells, const ColorScale& scale, const CellMarks& marked);
/// A heat map in files of its own, with title and color bar.
struct HeatMapFiles {
  std::string svg;
  std::string png;
};
HeatMapFiles heat_map_files(const Matrix& cells, const ColorScale& scale, const std::string& title);

/// One image of a contact sheet, with its own color scale.
struct SheetImage {
  Matrix cells;
  ColorScale scale;
  std::string title = {};                ///< above the image
  std::string row_title = {};            ///< left of the image
  std::vector<std::string> labels = {};  ///< written on the cells, row by row; empty: none
};
/// Images of one size, row by row, in one file.
HeatMapFiles image_sheet_files(const std::vector<std::vector<SheetImage>>& rows,
                               const std::string& title);

/// The map as a CSS gradient from left to right.
std::string css_gradient(ColorMap map);

}  // namespace matapprox::report
