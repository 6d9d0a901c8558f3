#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/text_place.hpp"
#include "matapprox/core/types.hpp"

namespace matapprox {

/// Reads a table of numbers, as read_delimited does, in pieces of whole lines.
class TableReader {
 public:
  TableReader(std::string name, std::vector<std::string>* notes)
      : name_(std::move(name)), notes_(notes) {}

  /// Reads all lines of `text`, which is needed no longer then. Throws FileError.
  void read(std::string_view text);
  Index rows() const { return rows_; }  ///< that have been read and not been taken
  /// All rows that have been read since the last call.
  Matrix take();
  bool has_rows() const { return cols_ > 0; }  ///< there was a row, taken or not

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
  Index lines_before_ = 0;  ///< of the text, in earlier pieces
  char separator_ = ' ';
  bool first_ = true;  ///< no line that counts was read
  bool has_header_ = false;
  std::vector<double> values_;
  Index rows_ = 0;
  Index cols_ = 0;
};

}  // namespace matapprox
