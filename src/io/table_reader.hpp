#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "matapprox/core/types.hpp"

namespace matapprox {

/// Returns the line, counted from 1, of the byte at `at` of the text. Cost: one pass up to that
/// byte, only for error messages.
Index line_number(std::string_view text, std::size_t at);

/// Kind of an error: the form of the file, or a number that is NaN or Inf.
enum class Misfit { kForm, kNotFinite };

/// Throws FileError "name:line: what", or NumericalError for a number that is not finite.
[[noreturn]] void fail_at(const std::string& name,
                          std::string_view text,
                          std::size_t at,
                          const std::string& what,
                          Misfit misfit = Misfit::kForm);
[[noreturn]] void fail_at_line(const std::string& name,
                               Index line,
                               const std::string& what,
                               Misfit misfit = Misfit::kForm);
/// Throws NumericalError: the entry in that row and column, given from 0 and shown from 1 like
/// lines, is `value`, NaN or Inf.
[[noreturn]] void fail_not_finite(const std::string& name, Index row, Index col, double value);
/// Throws FileError "name: what", for errors without a line.
[[noreturn]] void fail_in(const std::string& name, const std::string& what);

/// Returns a piece of a file for a message: in quotes, at most 40 bytes, control and high bytes as
/// \xNN.
std::string in_quotes(std::string_view piece);

/// Returns the text at `at` up to the next blank, separator or line end.
std::string_view token_at(std::string_view text, std::size_t at, std::string_view separators = "");

/// Reads a table of numbers, as read_delimited does, in pieces of whole lines.
class TableReader {
 public:
  TableReader(std::string name, std::vector<std::string>* notes)
      : name_(std::move(name)), notes_(notes) {}

  /// Reads all lines of `text`, which may be freed afterwards. Throws FileError.
  void read(std::string_view text);
  Index rows() const { return rows_; }  ///< number of rows read and not taken yet
  /// Returns all rows read since the last call.
  Matrix take();
  bool has_rows() const { return cols_ > 0; }  ///< true if any row was read

 private:
  std::string_view trimmed_line(std::string_view line, bool first) const;
  void read_row(std::string_view line, std::size_t start);
  const char* skip_padding(const char* p, const char* end, bool behind = false) const;
  [[noreturn]] void fail_cell(const char* p,
                              const char* end,
                              Index column,
                              std::size_t start) const;
  [[noreturn]] void fail_line(std::size_t start,
                              const std::string& what,
                              Misfit misfit = Misfit::kForm) const;

  std::string_view text_;
  std::string name_;
  std::vector<std::string>* notes_;
  Index lines_before_ = 0;  ///< number of lines in earlier pieces
  char separator_ = ' ';
  bool first_ = true;  ///< no line with content was read yet
  bool has_header_ = false;
  std::vector<double> values_;
  Index rows_ = 0;
  Index cols_ = 0;
};

}  // namespace matapprox
