#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/line_reader.hpp"
#include "io/number_text.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "io/text_output.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"
#include "matapprox/io/matrix_files.hpp"

namespace matapprox {
namespace {

/// Returns the separator of a line: tabs take precedence over semicolons, commas and blanks, all
/// outside quotes; ' ' means blanks.
char find_separator(std::string_view line) {
  bool quoted_part = false;
  bool semicolon = false;
  bool comma = false;
  for (const char c : line) {
    if (c == '"') quoted_part = !quoted_part;
    if (quoted_part) continue;
    if (c == '\t') return '\t';
    semicolon = semicolon || c == ';';
    comma = comma || c == ',';
  }
  return semicolon ? ';' : (comma ? ',' : ' ');
}

bool separates(char c, char separator) { return separator == ' ' ? is_blank(c) : c == separator; }

/// Returns the end of the cell that starts at p.
const char* cell_end(const char* p, const char* end, char separator) {
  bool quoted_part = false;
  for (; p != end && (quoted_part || !separates(*p, separator)); ++p) {
    if (*p == '"') quoted_part = !quoted_part;
  }
  return p;
}

bool is_number(std::string_view cell) {
  double value = 0;
  const char* const end = cell.data() + cell.size();
  return read_real(cell.data(), end, value) == end || is_nan_or_infinity(cell);
}

/// True if some cell of the line is text and none is a number. A line with both is a row of numbers
/// with a mistake, which must not be skipped as a header.
bool is_header(std::string_view line, char separator) {
  const char* const end = line.data() + line.size();
  bool has_text = false;
  for (const char* p = line.data();; ++p) {
    if (separator == ' ') p = skip_blanks(p, end);
    const char* const stop = cell_end(p, end, separator);
    const auto cell = trimmed({p, static_cast<std::size_t>(stop - p)});
    if (!cell.empty() && is_number(cell)) return false;
    has_text = has_text || !cell.empty();
    if (stop == end) return has_text;
    p = stop;
  }
}

}  // namespace

void TableReader::read(std::string_view text) {
  text_ = text;
  LineReader reader(text_);
  while (reader.advance()) {
    const std::string_view line = trimmed_line(reader.line(), first_);
    if (line.empty() || line[0] == '#') continue;
    if (first_) separator_ = find_separator(line);
    const bool header = first_ && is_header(line, separator_);
    first_ = false;
    has_header_ = has_header_ || header;
    if (!header) {
      read_row(line, reader.start());
    } else if (notes_ != nullptr) {
      notes_->push_back(fmt::format("line {} is treated as a header: {}",
                                    lines_before_ + line_number(text_, reader.start()),
                                    in_quotes(line)));
    }
  }
  lines_before_ += count_line_ends(text_);
  text_ = {};
}

Matrix TableReader::take() {
  require_memory(8.0 * static_cast<double>(values_.size()), name_);
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Matrix taken = Eigen::Map<const RowMajor>(values_.data(), rows_, cols_);
  values_.clear();
  rows_ = 0;
  return taken;
}

/// Removes blanks at both ends, but no tabs if tabs separate cells.
std::string_view TableReader::trimmed_line(std::string_view line, bool first) const {
  const bool tabs = first ? find_separator(line) == '\t' : separator_ == '\t';
  if (!tabs) return trimmed(line);
  if (trimmed(line).empty()) return {};
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
  return line;
}

void TableReader::read_row(std::string_view line, std::size_t start) {
  const char* const end = line.data() + line.size();
  Index cells = 0;
  for (const char* p = line.data();; ++p) {
    p = skip_padding(p, end);
    double value = 0;
    const char* stop = read_real(p, end, value);
    if (stop != nullptr) stop = skip_padding(stop, end, true);
    if (stop == nullptr || (stop != end && !separates(*stop, separator_)))
      fail_cell(p, end, cells + 1, start);
    values_.push_back(value);
    ++cells;
    if (separator_ == ' ') stop = skip_blanks(stop, end) == end ? end : stop;
    if (stop == end) break;
    p = stop;
  }
  if (cols_ == 0) cols_ = cells;
  if (cells != cols_)
    fail_line(start, fmt::format("{} cells; the rows before have {}", cells, cols_));
  ++rows_;
}

/// Skips blanks around a cell; if blanks separate cells, only those before a cell.
const char* TableReader::skip_padding(const char* p, const char* end, bool behind) const {
  if (separator_ == ' ') return behind ? p : skip_blanks(p, end);
  while (p != end && is_blank(*p) && *p != separator_) ++p;
  return p;
}

void TableReader::fail_cell(const char* p, const char* end, Index column, std::size_t start) const {
  const char* const stop = cell_end(p, end, separator_);
  const auto cell = trimmed({p, static_cast<std::size_t>(stop - p)});
  const std::string what =
      cell.empty() ? "the cell is empty; it must hold a number" : explain_real(cell);
  const bool may_be_header = !has_header_ && cols_ == 0 && !cell.empty() && !is_number(cell);
  fail_line(start,
            fmt::format("column {}: {}{}",
                        column,
                        what,
                        may_be_header ? "; a header line must not contain numbers" : ""),
            is_nan_or_infinity(cell) ? Misfit::kNotFinite : Misfit::kForm);
}

void TableReader::fail_line(std::size_t start, const std::string& what, Misfit misfit) const {
  fail_at_line(name_, lines_before_ + line_number(text_, start), what, misfit);
}

Matrix parse_delimited(std::string_view text,
                       const std::string& name,
                       std::vector<std::string>* notes) {
  TableReader reader(name, notes);
  const std::string_view lines = without_byte_order_mark(text);
  reader.read(lines);
  if (!reader.has_rows()) {
    fail_in(name,
            lines.empty() ? "the file is empty; at least one row of numbers is needed"
                          : "no row of numbers; at least one is needed");
  }
  return reader.take();
}

Matrix read_delimited(const std::string& path, std::vector<std::string>* notes) {
  const InputBytes bytes = read_all(path, require_text);
  return parse_delimited(bytes, display_name(path), notes);
}

void write_csv(const std::string& path, const Matrix& A) {
  require(A.size() > 0,
          "{}: a {} x {} matrix cannot be written, sizes start at 1",
          path,
          A.rows(),
          A.cols());
  require(A.allFinite(), "{}: a matrix with NaN or Inf cannot be written", path);
  TextOutput out(path);
  for (Index row = 0; row < A.rows(); ++row) {
    for (Index col = 0; col < A.cols(); ++col) {
      if (col > 0) out.write(",");
      out.write(A(row, col));
    }
    out.write("\n");
  }
  out.finish();
}

}  // namespace matapprox
