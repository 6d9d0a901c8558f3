#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "report/heat_map.hpp"
#include "report/page.hpp"

namespace matapprox::report {

// Parts shared by the pages of `compare`, `best` and `solve`.

using Facts = std::vector<std::pair<std::string, std::string>>;

/// The last part of a path; "standard input" for "-".
std::string file_name(const std::string& path);
/// "2026-11-23 18:45 UTC"
std::string time_of_page();
std::string footer_of_page();

/// Size, nonzeros, symmetry, norm and the operator's description of itself.
Facts matrix_facts(const MatrixFacts& facts, const std::string& description);

/// Cells as an image with one pixel per cell.
ImageItem heat_map_item(const Matrix& cells,
                        const ColorScale& scale,
                        const std::string& label,
                        const std::string& alt);
/// "Heat map", or "Gray image".
std::string kind_of_image(const ImagePlan& plan);
/// Describes the cells of a matrix and of its residuals, and the color scales of both.
std::string scale_caption(const ImagePlan& plan,
                          const Matrix& image,
                          const ColorScale& matrix,
                          const ColorScale& residual);

/// The command and the settings of its run.
struct Repetition {
  std::string command;  ///< command line; may be empty
  std::string path;     ///< path of the matrix
  std::string kind;     ///< kind as which the file was read; may be empty
  std::uint64_t seed = 1;
  int threads = 1;
};
Section repeat_section(const Repetition& run);

}  // namespace matapprox::report
