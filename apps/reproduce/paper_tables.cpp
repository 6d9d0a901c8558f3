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

std::string shown_name(const ReproducedRow& row) { return row.paper.name; }

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

void add_category_rows(TextTable& table,
                       const Reproduction& reproduction,
                       std::vector<std::string> (*cells)(const ReproducedRow& row)) {
  for (const ReproducedRow* row : reproduction.finished()) table.rows.push_back(cells(*row));
}

std::vector<std::string> paper_cells(const ReproducedRow& row) {
  return {shown_name(row),
          number(row.n),
          number(row.tsvd.numbers),
          number(row.chord_numbers),
          or_unknown(row.paper.printed_tsvd),
          error_number(row, row.tsvd.error),
          or_unknown(row.paper.printed_sf),
          error_number(row, row.chord_error),
          or_unknown(row.winner_then()),
          row.winner_now(),
          fmt::format("{:.1f}", row.seconds),
          marks_of(row)};
}

std::vector<std::string> storage_cells(const ReproducedRow& row) {
  const bool halved = row.tsvd_symmetric.has_value();
  return {shown_name(row),
          number(row.n * row.n),
          number(row.nonzeros),
          number(row.chord_numbers),
          error_number(row, row.chord_error),
          number(row.tsvd_fit.size),
          number(row.tsvd_fit.numbers),
          error_number(row, row.tsvd_fit.error),
          halved ? number(row.tsvd_symmetric->size) : kUnknown,
          halved ? number(row.tsvd_symmetric->numbers) : kUnknown,
          halved ? error_number(row, row.tsvd_symmetric->error) : kUnknown,
          number(row.largest_entries.size),
          error_number(row, row.largest_entries.error)};
}

std::vector<std::string> pattern_cells(const ReproducedRow& row) {
  std::vector<std::string> cells{
      shown_name(row),
      number(row.chord_numbers),
      error_number(row, row.tsvd_fit.error),
      row.tsvd_symmetric ? error_number(row, row.tsvd_symmetric->error) : kUnknown,
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

std::string joined_names(const std::vector<const ReproducedRow*>& rows,
                         bool (*test)(const ReproducedRow& row)) {
  std::vector<std::string> names;
  for (const ReproducedRow* row : rows) {
    if (test(*row)) names.push_back(row->paper.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void add_names(std::vector<std::string>& sentences,
               const Reproduction& reproduction,
               const char* what,
               bool (*test)(const ReproducedRow& row)) {
  const std::string names = joined_names(reproduction.finished(), test);
  if (!names.empty()) sentences.push_back(fmt::format("{}: {}.", what, names));
}

}  // namespace

TextTable paper_table(const Reproduction& reproduction) {
  TextTable table;
  table.caption = fmt::format(
      "Absolute Frobenius errors, the paper's and ours. Chord: effort {}, pattern {}, seed {}.",
      reproduction.options.effort,
      reproduction.options.pattern,
      reproduction.options.seed);
  table.columns = {Column{"", "matrix", true},
                   Column{"", "N"},
                   Column{"stored", "TSVD"},
                   Column{"stored", "SF"},
                   Column{"TSVD error", "paper"},
                   Column{"TSVD error", "ours"},
                   Column{"SF error", "paper"},
                   Column{"SF error", "ours"},
                   Column{"winner", "then", true},
                   Column{"winner", "now", true},
                   Column{"", "fit s"},
                   Column{"", "", true}};
  add_category_rows(table, reproduction, paper_cells);
  return table;
}

TextTable storage_table(const Reproduction& reproduction) {
  TextTable table;
  table.caption = "The same matrices; each method stores at most as many numbers as SF.";
  table.columns = {Column{"", "matrix", true},
                   Column{"", "N^2"},
                   Column{"", "nonzeros"},
                   Column{"SF", "stored"},
                   Column{"SF", "error"},
                   Column{"TSVD", "rank"},
                   Column{"TSVD", "stored"},
                   Column{"TSVD", "error"},
                   Column{"symmetric TSVD", "rank"},
                   Column{"symmetric TSVD", "stored"},
                   Column{"symmetric TSVD", "error"},
                   Column{"largest entries", "kept"},
                   Column{"largest entries", "error"}};
  add_category_rows(table, reproduction, storage_cells);
  return table;
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
  add_names(sentences, reproduction, "No compression", has_no_compression);
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
