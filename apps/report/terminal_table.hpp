#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace matapprox::report {

// Tables of the terminal, in at most so many columns of characters.
constexpr std::size_t kTerminalWidth = 100;

struct TerminalColumn {
  std::string_view title;
  std::size_t min_width = 0;
  bool left = false;     ///< numbers are set to the right
  bool may_cut = false;  ///< cut where a line would be too long; of one column at most
};

/// The titles and the rows, with two blanks between columns, or one where two do not fit. Every row
/// has a cell for each column; what is in it is made visible (core/visible_text.hpp).
std::string terminal_table(std::span<const TerminalColumn> columns,
                           std::vector<std::vector<std::string>> rows);

/// A paragraph, made visible too, in lines of at most kTerminalWidth characters, the second and
/// later ones indented.
std::string wrapped(const std::string& paragraph, std::size_t indent);

}  // namespace matapprox::report
