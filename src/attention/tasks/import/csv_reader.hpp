#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace matapprox::tasks {

/// Reads records of comma-separated fields. Quotes within quotes are doubled, and quoted fields may
/// contain line ends. Empty lines are skipped.
class CsvReader {
 public:
  /// `name` is for messages; both arguments must outlive the reader.
  CsvReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  /// Reads the next record of at most `max_columns` fields; false at the end. Throws FileError.
  bool advance(std::size_t max_columns);
  const std::vector<std::string>& fields() const { return fields_; }
  /// Throws FileError with the line where the record begins.
  [[noreturn]] void fail_record(const std::string& what) const;

 private:
  void read_quoted(std::string& field);
  void read_plain(std::string& field);
  /// Appends the text up to `stop`.
  void append(std::string& field, std::size_t stop);
  [[noreturn]] void fail(std::size_t at, const std::string& what) const;

  std::string_view text_;
  const std::string& name_;
  std::vector<std::string> fields_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
};

}  // namespace matapprox::tasks
