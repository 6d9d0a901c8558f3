#pragma once

#include <string>
#include <utility>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "report/heat_map.hpp"
#include "report/page.hpp"

namespace matapprox::report {

// What the pages of `compare`, `best` and `solve` have in common.

using Facts = std::vector<std::pair<std::string, std::string>>;

/// The last part of a path; "standard input" for "-".
std::string file_name(const std::string& path);
/// "2026-11-23 18:45 UTC"
std::string time_of_page();
std::string footer_of_page();

/// Size, nonzeros, symmetry, norm and what the operator says of itself.
Facts matrix_facts(const MatrixFacts& facts, const std::string& description);

/// Cells as an image of one pixel each.
ImageItem heat_map_item(const Matrix& cells,
                        const ColorScale& scale,
                        const std::string& label,
                        const std::string& alt);
/// "Heat map", or "Gray image".
std::string kind_of_image(const ImagePlan& plan);
/// What the cells of a matrix and of its residuals are, and how colors follow values; the scales
/// of both.
std::string scale_caption(const ImagePlan& plan,
                          const Matrix& image,
                          const ColorScale& matrix,
                          const ColorScale& residual);

/// The command, and with what it ran.
struct Repetition {
  std::string command;  ///< what was typed; may be empty
  std::string path;     ///< of the matrix
  std::string kind;     ///< what the file was read as; may be empty
  std::uint64_t seed = 1;
  int threads = 1;
};
Section repeat_section(const Repetition& run);

}  // namespace matapprox::report
