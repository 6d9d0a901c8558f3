#pragma once

#include <string>
#include <vector>

#include "reproduce/reproduction.hpp"

namespace matapprox::reproduction {

/// A table of text cells, to be set as plain text, Markdown, LaTeX or HTML.
struct TextTable {
  struct Column {
    std::string group;  ///< title shared with the columns beside it; may be empty
    std::string title;
    bool left = false;  ///< left-aligned; else right-aligned
  };
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

/// The table of the paper: errors of both methods, published and found here, and the winner.
TextTable paper_table(const Reproduction& reproduction);
/// Alternatives at the same storage: the matrix as it is, other ranks, symmetric storage, the
/// largest entries.
TextTable storage_table(const Reproduction& reproduction);
/// SF with other patterns at the same storage, beside TSVD at that storage; no rows without them.
TextTable pattern_table(const Reproduction& reproduction);
/// The contact sheets and the scales of their residuals; no rows without images.
TextTable image_table(const Reproduction& reproduction);
/// The tables, of these four, that have rows.
std::vector<TextTable> all_tables(const Reproduction& reproduction);

/// Meaning of the marks in the tables and the counting of rows; one sentence each.
std::vector<std::string> legend(const Reproduction& reproduction);
/// The outcome, "27 of 27 rows ..."; one sentence each.
std::vector<std::string> outcome(const Reproduction& reproduction);
/// "27 rows in 61.2 s wall, 119.8 CPU s on 2 threads".
std::string time_spent(const Reproduction& reproduction);

std::string as_text(const TextTable& table);
std::string as_markdown(const TextTable& table);
/// A tabular environment for the package booktabs.
std::string as_latex(const TextTable& table);

}  // namespace matapprox::reproduction
