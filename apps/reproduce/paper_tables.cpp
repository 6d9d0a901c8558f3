#include "reproduce/paper_tables.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

namespace matapprox::reproduction {
namespace {

using Column = TextTable::Column;

constexpr const char* kUnknown = "-";

std::string number(Index value) { return fmt::format("{}", value); }

/// An error in the format of its table: Table 1 has three digits, Fig. 4 whole numbers.
std::string error_number(const ReproducedRow& row, double error) {
  if (row.paper.table() == PaperTable::kFigure4 && error >= 0.05)
    return fmt::format("{:.1f}", error);
  return error == 0 ? "0" : fmt::format("{:.3e}", error);
}

std::string or_unknown(const std::string& text) { return text.empty() ? kUnknown : text; }

std::string marks_of(const ReproducedRow& row) {
  std::string marks;
  if (row.no_compression()) marks += "=";
  if (!row.sha256_is_known) marks += "?";
  if (row.within_paper() == false) marks += "!";
  return marks;
}

bool known_printed(const Reproduction& reproduction) {
  return reproduction.options.table == PaperTable::kTable1;
}

std::size_t count_if(const std::vector<const ReproducedRow*>& rows,
                     bool (*test)(const ReproducedRow& row)) {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [&](const ReproducedRow* row) { return test(*row); }));
}

bool sf_wins_then(const ReproducedRow& row) { return row.winner_then() == "SF"; }
bool sf_wins_now(const ReproducedRow& row) { return row.winner_now() == "SF"; }
bool has_printed_sf(const ReproducedRow& row) { return row.within_paper().has_value(); }
bool is_within_paper(const ReproducedRow& row) { return row.within_paper() == true; }
bool has_no_compression(const ReproducedRow& row) { return row.no_compression(); }
bool is_smaller_as_it_is(const ReproducedRow& row) { return row.nonzeros < row.chord_numbers; }
bool is_of_another_file(const ReproducedRow& row) { return !row.sha256_is_known; }
bool is_beaten_at_same_numbers(const ReproducedRow& row) {
  return row.tsvd_fit.error < row.chord_error ||
         (row.tsvd_symmetric && row.tsvd_symmetric->error < row.chord_error) ||
         row.largest_entries.error < row.chord_error;
}

/// A column of a table and its cell in a row.
struct RowColumn {
  Column column;
  std::string (*cell)(const ReproducedRow& row);
};

TextTable table_of(const Reproduction& reproduction,
                   const std::string& caption,
                   const std::vector<RowColumn>& columns) {
  TextTable table;
  table.caption = caption;
  for (const RowColumn& each : columns) table.columns.push_back(each.column);
  for (const ReproducedRow* row : reproduction.finished()) {
    auto& cells = table.rows.emplace_back();
    for (const RowColumn& each : columns) cells.push_back(each.cell(*row));
  }
  return table;
}

using Row = ReproducedRow;

const std::vector<RowColumn> kPaperColumns{
    {{"", "matrix", true}, [](const Row& row) { return row.paper.name; }},
    {{"", "N"}, [](const Row& row) { return number(row.n); }},
    {{"stored", "TSVD"}, [](const Row& row) { return number(row.tsvd.numbers); }},
    {{"stored", "SF"}, [](const Row& row) { return number(row.chord_numbers); }},
    {{"TSVD error", "paper"}, [](const Row& row) { return or_unknown(row.paper.printed_tsvd); }},
    {{"TSVD error", "ours"}, [](const Row& row) { return error_number(row, row.tsvd.error); }},
    {{"SF error", "paper"}, [](const Row& row) { return or_unknown(row.paper.printed_sf); }},
    {{"SF error", "ours"}, [](const Row& row) { return error_number(row, row.chord_error); }},
    {{"winner", "then", true}, [](const Row& row) { return or_unknown(row.winner_then()); }},
    {{"winner", "now", true}, [](const Row& row) { return row.winner_now(); }},
    {{"", "fit s"}, [](const Row& row) { return fmt::format("{:.1f}", row.seconds); }},
    {{"", "", true}, marks_of}};

std::string symmetric_error(const Row& row) {
  return row.tsvd_symmetric ? error_number(row, row.tsvd_symmetric->error) : kUnknown;
}

std::string symmetric_number(const Row& row, Index ReproducedError::*which) {
  return row.tsvd_symmetric ? number((*row.tsvd_symmetric).*which) : kUnknown;
}

const std::vector<RowColumn> kStorageColumns{
    {{"", "matrix", true}, [](const Row& row) { return row.paper.name; }},
    {{"", "N^2"}, [](const Row& row) { return number(row.n * row.n); }},
    {{"", "nonzeros"}, [](const Row& row) { return number(row.nonzeros); }},
    {{"SF", "stored"}, [](const Row& row) { return number(row.chord_numbers); }},
    {{"SF", "error"}, [](const Row& row) { return error_number(row, row.chord_error); }},
    {{"TSVD", "rank"}, [](const Row& row) { return number(row.tsvd_fit.size); }},
    {{"TSVD", "stored"}, [](const Row& row) { return number(row.tsvd_fit.numbers); }},
    {{"TSVD", "error"}, [](const Row& row) { return error_number(row, row.tsvd_fit.error); }},
    {{"symmetric TSVD", "rank"},
     [](const Row& row) { return symmetric_number(row, &ReproducedError::size); }},
    {{"symmetric TSVD", "stored"},
     [](const Row& row) { return symmetric_number(row, &ReproducedError::numbers); }},
    {{"symmetric TSVD", "error"}, symmetric_error},
    {{"largest entries", "kept"}, [](const Row& row) { return number(row.largest_entries.size); }},
    {{"largest entries", "error"},
     [](const Row& row) { return error_number(row, row.largest_entries.error); }}};

std::vector<std::string> pattern_cells(const ReproducedRow& row) {
  std::vector<std::string> cells{row.paper.name,
                                 number(row.chord_numbers),
                                 error_number(row, row.tsvd_fit.error),
                                 symmetric_error(row),
                                 error_number(row, row.chord_error),
                                 fmt::format("{:.1f}", row.seconds)};
  for (const OtherPattern& other : row.others) {
    cells.push_back(error_number(row, other.error));
    cells.push_back(fmt::format("{:.1f}", other.seconds));
    if (other.pattern == "auto") cells.push_back(other.form);
  }
  return cells;
}

/// Relative errors below this are rounding in the product of the factors.
constexpr double kRounding = 1e-13;
/// Smallest relative error in a ratio of errors. Smaller errors, on matrices that can be
/// represented exactly, are due to rounding and not compared.
constexpr double kMinRelativeError = 1e-6;

/// "SF, alternating: at or under SF, reference in 26 of 27 rows; ..."
std::string pattern_outcome(const Reproduction& reproduction, std::size_t which) {
  const auto rows = reproduction.finished();
  std::size_t within = 0;
  std::size_t under_tsvd = 0;
  std::size_t under_symmetric = 0;
  std::size_t symmetric = 0;
  std::size_t compressed = 0;
  double logarithms = 0;
  for (const ReproducedRow* row : rows) {
    const double error = row->others[which].error;
    if (error <= std::max(row->chord_error, kRounding * row->frobenius_norm)) ++within;
    if (error < row->tsvd_fit.error) ++under_tsvd;
    if (row->tsvd_symmetric) ++symmetric;
    if (row->tsvd_symmetric && error < row->tsvd_symmetric->error) ++under_symmetric;
    if (row->no_compression() || row->frobenius_norm == 0) continue;
    ++compressed;
    const double least = kMinRelativeError * row->frobenius_norm;
    logarithms += std::log(std::max(error, least) / std::max(row->chord_error, least));
  }
  const std::string& pattern = reproduction.options.other_patterns[which];
  const std::string ratio =
      compressed == 0 ? ""
                      : fmt::format(
                            "; its error is {:.3g} times that of SF (geometric mean of the {} rows "
                            "that compress; errors below 1e-6 |A| count as 1e-6 |A|)",
                            std::exp(logarithms / static_cast<double>(compressed)),
                            compressed);
  return fmt::format(
      "SF, {}: at or under SF, {} in {} of {} rows, under TSVD at the same numbers in {}{}{}.",
      pattern == "auto" ? "best pattern" : pattern,
      reproduction.options.pattern,
      within,
      rows.size(),
      under_tsvd,
      symmetric == 0
          ? ""
          : fmt::format(", under symmetric TSVD in {} of {}", under_symmetric, symmetric),
      ratio);
}

}  // namespace

TextTable paper_table(const Reproduction& reproduction) {
  const std::string caption = fmt::format(
      "Absolute Frobenius errors, the paper's and ours. Chord: effort {}, pattern {}, seed {}.",
      reproduction.options.effort,
      reproduction.options.pattern,
      reproduction.options.seed);
  return table_of(reproduction, caption, kPaperColumns);
}

TextTable storage_table(const Reproduction& reproduction) {
  return table_of(reproduction,
                  "The same matrices; each method stores at most as many numbers as SF.",
                  kStorageColumns);
}

TextTable pattern_table(const Reproduction& reproduction) {
  TextTable table;
  table.caption = "SF with other patterns, and TSVD, at the numbers that SF stores.";
  const auto& patterns = reproduction.options.other_patterns;
  if (patterns.empty()) return table;
  table.columns = {Column{"", "matrix", true},
                   Column{"", "stored"},
                   Column{"TSVD", "plain"},
                   Column{"TSVD", "symmetric"},
                   Column{"SF, " + reproduction.options.pattern, "error"},
                   Column{"SF, " + reproduction.options.pattern, "fit s"}};
  for (const std::string& pattern : patterns) {
    const std::string group = "SF, " + (pattern == "auto" ? "best pattern" : pattern);
    table.columns.push_back(Column{group, "error"});
    table.columns.push_back(Column{group, "fit s"});
    if (pattern == "auto") table.columns.push_back(Column{group, "form", true});
  }
  for (const ReproducedRow* row : reproduction.finished())
    table.rows.push_back(pattern_cells(*row));
  return table;
}

TextTable image_table(const Reproduction& reproduction) {
  TextTable table;
  table.caption =
      "Images, from left to right: original, TSVD, SF, and the residuals |A - B| of both on one "
      "scale, where white is 0.";
  table.columns = {
      Column{"", "image", true}, Column{"", "black from, gray levels"}, Column{"", "file", true}};
  for (const ReproducedRow* row : reproduction.finished()) {
    if (row->image.empty()) continue;
    table.rows.push_back({row->paper.name, fmt::format("{:.1f}", row->residual_scale), row->image});
  }
  return table;
}

std::vector<TextTable> all_tables(const Reproduction& reproduction) {
  std::vector<TextTable> tables{paper_table(reproduction), storage_table(reproduction)};
  TextTable patterns = pattern_table(reproduction);
  if (!patterns.rows.empty()) tables.push_back(std::move(patterns));
  TextTable images = image_table(reproduction);
  if (!images.rows.empty()) tables.push_back(std::move(images));
  return tables;
}

std::vector<std::string> legend(const Reproduction& reproduction) {
  std::vector<std::string> sentences = {
      "First table: TSVD at the paper's rank, ceil(ceil(log2 N)^2 / 2), which stores more or fewer "
      "numbers than SF; then and now: the smaller of the two errors.",
      "Second table: nonzeros are those of the matrix itself, stored exactly; TSVD at the largest "
      "rank that fits "
      "(2 N r + r numbers); symmetric TSVD: U and eigenvalues (N r + r); largest entries: each "
      "a value and two 4-byte indices, counted as 2 numbers."};
  const auto rows = reproduction.finished();
  if (count_if(rows, has_no_compression) > 0)
    sentences.emplace_back("= SF stores at least N^2 numbers: nothing is compressed.");
  if (count_if(rows, is_of_another_file) > 0)
    sentences.emplace_back("? the file is not the paper's by SHA-256.");
  if (count_if(rows, is_within_paper) < count_if(rows, has_printed_sf))
    sentences.emplace_back("! the error is above the paper's SF.");
  if (!known_printed(reproduction)) {
    sentences.emplace_back(
        "The paper's Fig. 4 also shows lena, which is left out: a photograph under copyright. Its "
        "value for chess (126, 136) is that of another image. Gradient images are clipped "
        "4-neighbor Laplacians.");
  }
  return sentences;
}

std::vector<std::string> outcome(const Reproduction& reproduction) {
  const auto rows = reproduction.finished();
  std::vector<std::string> sentences;
  const std::size_t printed = count_if(rows, has_printed_sf);
  if (printed > 0) {
    sentences.push_back(
        fmt::format("SF at or under the paper's SF: {} of the {} rows printed there.",
                    count_if(rows, is_within_paper),
                    printed));
  }
  if (known_printed(reproduction)) {
    const std::size_t as_printed =
        count_if(rows, [](const ReproducedRow& row) { return row.tsvd_as_printed() == true; });
    sentences.push_back(
        fmt::format("TSVD equal to the printed value to three digits: {} of {} rows.",
                    as_printed,
                    rows.size()));
  }
  sentences.push_back(fmt::format(
      "SF under TSVD at the paper's rank: {} of {} rows{}.",
      count_if(rows, sf_wins_now),
      rows.size(),
      printed > 0 ? fmt::format(" (the paper: {} of {})", count_if(rows, sf_wins_then), printed)
                  : ""));
  sentences.push_back(fmt::format(
      "The matrix has fewer nonzeros than SF has stored numbers in {} of {} rows; TSVD, symmetric "
      "TSVD or the largest entries are more accurate with no more numbers in {}.",
      count_if(rows, is_smaller_as_it_is),
      rows.size(),
      count_if(rows, is_beaten_at_same_numbers)));
  for (std::size_t p = 0; p < reproduction.options.other_patterns.size() && !rows.empty(); ++p)
    sentences.push_back(pattern_outcome(reproduction, p));
  std::vector<std::string> uncompressed;
  for (const ReproducedRow* row : rows) {
    if (row->no_compression()) uncompressed.push_back(row->paper.name);
  }
  if (!uncompressed.empty())
    sentences.push_back(fmt::format("No compression: {}.", fmt::join(uncompressed, ", ")));
  for (const ReproducedRow* row : reproduction.unfinished())
    sentences.push_back(fmt::format("Not in the tables: {}: {}", row->paper.name, row->status));
  return sentences;
}

std::string time_spent(const Reproduction& reproduction) {
  const auto rows = reproduction.finished();
  const std::size_t reused = count_if(rows, [](const ReproducedRow& row) { return row.reused; });
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  std::string text = fmt::format("{} row{} in {:.1f} s wall, {:.1f} CPU s on {} thread{}",
                                 rows.size() - reused,
                                 plural(rows.size() - reused),
                                 reproduction.wall_seconds,
                                 reproduction.cpu_seconds,
                                 reproduction.threads,
                                 plural(static_cast<std::size_t>(reproduction.threads)));
  double fits = 0;
  for (const ReproducedRow* row : rows) {
    fits += row->seconds;
    for (const OtherPattern& other : row->others) fits += other.seconds;
  }
  if (rows.size() > 1) text += fmt::format("; the Chord fits together {:.1f} s", fits);
  if (reused > 0) text += fmt::format("; {} reused from an earlier run", reused);
  if (!reproduction.options.folder.empty()) text += "; saved in " + reproduction.options.folder;
  return text;
}

}  // namespace matapprox::reproduction
