#pragma once

#include <string>
#include <vector>

#include "matapprox/core/linear_operator.hpp"
#include "report/plot.hpp"
#include "report/report_page.hpp"
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

namespace matapprox {

/// One self-contained HTML page: findings, the ratio of the errors then and now, the contact sheets
/// of images, the tables, error against time, and `command`, which made it. Reads the stored
/// images. Throws NotAvailable without gnuplot, FileError.
std::string reproduction_page(const Reproduction& reproduction, const std::string& command);

/// Its charts as files, and the names of these files. Throws NotAvailable without gnuplot.
std::vector<ReportFile> reproduction_plots(const Reproduction& reproduction);
std::vector<std::string> reproduction_plot_names();

}  // namespace matapprox

namespace matapprox::reproduction {

/// Error of SF divided by that of TSVD against the number of the row, as published and as found
/// here.
report::Chart ratio_chart(const Reproduction& reproduction);
/// Numbers of the rows in each category: "Dense graph 1 to 4, Network 5 to 11".
std::string category_rows(const Reproduction& reproduction);
/// Our ratios in words.
std::string ratio_message(const Reproduction& reproduction);

/// Error divided by that of TSVD against the seconds of the fit, one line per row, one style per
/// category.
report::Chart history_chart(const Reproduction& reproduction);

constexpr Index kContactSheetPanels = 5;

/// Writes one gray PNG: A, truncated SVD, Chord, then the absolute residuals |A - B| of both on one
/// scale, white for 0 and black from the size that one in 200 of them reaches. Returns that size.
double write_contact_sheet(const std::string& path,
                           const LinearOperator& A,
                           const LinearOperator& tsvd,
                           const LinearOperator& chord);

/// One of the panels of a contact sheet, counted from 0.
Matrix contact_sheet_panel(const Matrix& contact_sheet, Index panel);

}  // namespace matapprox::reproduction
