#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace matapprox::report {

// Tables of the terminal, of limited width in characters.
constexpr std::size_t kTerminalWidth = 100;

struct TerminalColumn {
  std::string_view title;
  std::size_t min_width = 0;
  bool left = false;     ///< left-aligned; numbers are right-aligned
  bool may_cut = false;  ///< may be cut if a line is too long; at most one column
};

/// The titles and the rows, with two blanks between columns, or one if two do not fit. Every row
/// has a cell for each column; cells are made visible (core/visible_text.hpp).
std::string terminal_table(std::span<const TerminalColumn> columns,
                           std::vector<std::vector<std::string>> rows);

/// A paragraph, also made visible, in lines of at most kTerminalWidth characters, the second and
/// later ones indented.
std::string wrapped(const std::string& paragraph, std::size_t indent);

/// A cell according to RFC 4180: quoted if it holds a comma or a quote. Line ends and control
/// characters are made visible. An apostrophe is put before a text that a spreadsheet would take
/// for a formula (=, +, - or @ at the start, unless the text is a number).
std::string csv_cell(const std::string& text);

}  // namespace matapprox::report
