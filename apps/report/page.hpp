#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "matapprox/measure/measure.hpp"
#include "report/heat_map.hpp"
#include "report/plot.hpp"

namespace matapprox::report {

// One self-contained HTML page: no script, no other file, nothing from the network. Every function
// here takes text and escapes it; only page_html and these functions produce markup.

/// Escapes text so that nothing in it has a meaning in HTML, attributes included. Bytes that are
/// not UTF-8 and control characters become U+FFFD.
std::string escape_html(std::string_view text);

/// Base64 of bytes, for data: addresses.
std::string base64(std::string_view bytes);

/// A finished piece of markup.
struct Html {
  std::string markup;
};

Html paragraph(std::string_view text);
Html note(std::string_view text);  ///< a paragraph in small print
Html bullet_list(const std::vector<std::string>& items);
Html fact_list(const std::vector<std::pair<std::string, std::string>>& facts);
/// A command line or other text to be copied.
Html code_block(std::string_view text);
/// Blocks that are hidden until their summary is opened.
Html details(std::string_view summary, const std::vector<Html>& blocks);

struct TableCell {
  TableCell() = default;
  TableCell(std::string words) : text(std::move(words)) {}
  TableCell(const char* words) : text(words) {}
  std::string text;
  int style = -1;           ///< >= 0: preceded by the mark of that style of the palette
  bool emphasized = false;  ///< the best of its column
  bool is_long = false;     ///< text that may take several lines
};
struct TableColumn {
  std::string title;
  bool numeric = false;
};
/// The first cell of a row is its header.
struct Table {
  std::string caption;
  std::vector<TableColumn> columns;
  std::vector<std::vector<TableCell>> rows;
};
/// A table that scrolls sideways in its own frame, which the keyboard reaches.
Html table(const Table& content);

/// A chart with its caption. `message` describes the chart in words for readers who cannot see it.
Html chart_figure(const DrawnChart& chart, std::string_view caption, std::string_view message);

/// An image with a line below it. `alt` describes the image in words.
struct ImageItem {
  std::string png;
  std::string label;
  std::string alt;
  Index width = 1;  ///< pixels
  Index height = 1;
};
/// Images that belong together, side by side under one heading.
struct ImageGroup {
  std::string title;
  int style = -1;
  std::string note;
  std::vector<ImageItem> images;
};
Html image_gallery(const std::vector<ImageGroup>& groups);
/// The color bar of a scale, with its ends and middle in numbers.
Html color_bar(const ColorScale& scale, std::string_view label);

struct Section {
  std::string id;  ///< letters, digits, -; unique on the page
  std::string title;
  std::vector<Html> blocks;
};
struct Page {
  std::string title;
  std::string subtitle;
  std::vector<std::string> findings;  ///< one sentence each; the first is the one to remember
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Section> sections;
  std::string footer;
};
std::string page_html(const Page& page);

/// The style sheet of every page.
std::string page_style();

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
