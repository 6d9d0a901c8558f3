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
