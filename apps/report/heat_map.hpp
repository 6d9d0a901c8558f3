#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/core/linear_operator.hpp"

namespace matapprox::report {

// Matrices as images: reduced to at most kLargestImage cells a side, one colour scale for all
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

enum class ColourMap {
  kGrey,           ///< black to white
  kDiverging,      ///< blue, white at 0, red
  kResidual,       ///< purple, white at 0, green
  kRising,         ///< its upper half: white at 0, red
  kRisingResidual  ///< white at 0, green
};

/// Values from low to high take the colours of the map; values beyond take its ends.
struct ColourScale {
  ColourMap map = ColourMap::kDiverging;
  double low = -1;
  double high = 1;
  /// If positive (and low is 0 or -high), colours follow asinh(value / soft): linear up to about
  /// `soft`, logarithmic above, so that small entries beside large ones are seen.
  double soft = 0;
};
/// Where on the scale a value is, 0..1, and which value is there.
double scale_position(const ColourScale& scale, double value);
double scale_value(const ColourScale& scale, double position);
/// Positions that are labelled, with their values: the ends, the middle, the quarters.
std::vector<std::pair<double, std::string>> scale_marks(const ColourScale& scale);

/// Symmetric about 0 up to the 99.5 % quantile of |cells|, zeros aside, of all the images: one
/// huge entry does not make all others white. Soft at the median, or a 200th of
/// it, where the median is below a tenth of it. [-1, 1] where all are 0. The rising maps start at
/// 0.
ColourScale symmetric_scale(const std::vector<const Matrix*>& images, ColourMap map);
/// Black at 0, white at the largest power of two less one that holds all values: 255 for photos.
ColourScale grey_scale(const Matrix& image);

/// Share of the cells beyond the ends of the scale.
double clipped_share(const Matrix& cells, const ColourScale& scale);

/// A PNG with exactly one pixel a cell. Not by gnuplot, whose canvas is a pixel off at the border;
/// libpng with a palette is exact and a third of the size.
std::string heat_map_png(const Matrix& cells, const ColourScale& scale);
/// A heat map as a file of its own, with title and colour bar.
struct HeatMapFiles {
  std::string svg;
  std::string png;
};
HeatMapFiles heat_map_files(const Matrix& cells,
                            const ColourScale& scale,
                            const std::string& title);

/// The map as a CSS gradient from left to right.
std::string css_gradient(ColourMap map);

}  // namespace matapprox::report
