#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::report {

// Matrices as images: reduced to at most kLargestImage cells a side, one color scale for all
// that are to be compared.

constexpr Index kLargestImage = 512;

/// What one cell of an image shows.
enum class Cells {
  kEntries,        ///< an entry of the matrix
  kMeans,          ///< the mean of a block of entries
  kAbsoluteMeans,  ///< the mean absolute value of a block
  kSampled         ///< one entry of a block: of matrices so large that not all are computed
};

/// How the images of a matrix, its approximations and their differences are reduced.
struct ImagePlan {
  Index rows = 0;  ///< of the matrix
  Index cols = 0;
  Index block = 1;  ///< entries a side that become one cell
  Cells cells = Cells::kEntries;
  bool is_image = false;
};

/// Entries up to kLargestImage a side; above, block means of absolute values (of values for an
/// image, which has no negative ones); above 64e6 entries a sample.
ImagePlan image_plan(Index rows, Index cols, bool is_image);

/// The cells of an image of A. Cost: all columns of A, or those of the sample.
Matrix image_cells(const LinearOperator& A, const ImagePlan& plan);
/// The same of A - B, whose block means are always of absolute values.
Matrix difference_cells(const LinearOperator& A, const LinearOperator& B, const ImagePlan& plan);

/// "each cell is the mean of |entries| of a block of 4 x 4"; empty for entries.
std::string cells_text(const ImagePlan& plan, bool difference);

enum class ColorMap {
  kGray,            ///< black to white
  kDiverging,       ///< blue, white at 0, red
  kResidual,        ///< purple, white at 0, green
  kRising,          ///< its upper half: white at 0, red
  kRisingResidual,  ///< white at 0, green
  kBits             ///< white at 0, yellow, green, blue
};

/// Values from low to high take the colors of the map; values beyond take its ends.
struct ColorScale {
  ColorMap map = ColorMap::kDiverging;
  double low = -1;
  double high = 1;
  /// If positive (and low is 0 or -high), colors follow asinh(value / soft): linear up to about
  /// `soft`, logarithmic above, so that small entries beside large ones are seen.
  double soft = 0;
};
/// Where on the scale a value is, 0..1, and which value is there.
double scale_position(const ColorScale& scale, double value);
double scale_value(const ColorScale& scale, double position);
/// Positions that are labeled, with their values: the ends, the middle, the quarters.
std::vector<std::pair<double, std::string>> scale_marks(const ColorScale& scale);

/// Symmetric about 0 up to the 99.5 % quantile of |cells|, zeros aside, of all the images: one
/// huge entry does not make all others white. Soft at the median, or a 200th of
/// it, where the median is below a tenth of it. [-1, 1] where all are 0. The maps without negative
/// values start at 0.
ColorScale symmetric_scale(const std::vector<const Matrix*>& images, ColorMap map);
/// Black at 0, white at the largest power of two less one that holds all values: 255 for photos.
ColorScale gray_scale(const Matrix& image);

/// Share of the cells beyond the ends of the scale.
double clipped_share(const Matrix& cells, const ColorScale& scale);

/// A PNG with exactly one pixel a cell. Not by gnuplot, whose canvas is a pixel off at the border;
/// libpng with a palette is exact and a third of the size.
std::string heat_map_png(const Matrix& cells, const ColorScale& scale);
/// The same with `marked` cells, such as borders, in gray.
using CellMarks = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic>;
std::string heat_map_png(const Matrix& cells, const ColorScale& scale, const CellMarks& marked);
/// A heat map as a file of its own, with title and color bar.
struct HeatMapFiles {
  std::string svg;
  std::string png;
};
HeatMapFiles heat_map_files(const Matrix& cells, const ColorScale& scale, const std::string& title);

/// One image of a contact sheet, in colors of its own.
struct SheetImage {
  Matrix cells;
  ColorScale scale;
  std::string title = {};                ///< above it
  std::string row_title = {};            ///< on its left
  std::vector<std::string> labels = {};  ///< written on the cells, row by row; empty: none
};
/// Images of one size, row by row, as one file.
HeatMapFiles image_sheet_files(const std::vector<std::vector<SheetImage>>& rows,
                               const std::string& title);

/// The map as a CSS gradient from left to right.
std::string css_gradient(ColorMap map);

}  // namespace matapprox::report
