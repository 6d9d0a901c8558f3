#include "attention/tasks/import/csv_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "attention/tasks/import/token_builder.hpp"
#include "io/table_reader.hpp"

namespace matapprox::tasks {

bool CsvReader::advance(std::size_t max_columns) {
  while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  if (at_ == text_.size()) return false;
  start_ = at_;
  fields_.clear();
  for (;;) {
    if (fields_.size() == max_columns)
      fail(start_, fmt::format("more than {} columns", max_columns));
    std::string& field = fields_.emplace_back();
    if (at_ < text_.size() && text_[at_] == '"') {
      read_quoted(field);
    } else {
      read_plain(field);
    }
    const bool more = at_ < text_.size() && text_[at_] == ',';
    if (!more) return true;
    ++at_;
  }
}

void CsvReader::read_quoted(std::string& field) {
  const std::size_t opened = at_++;
  for (;;) {
    const std::size_t quote = text_.find('"', at_);
    if (quote == std::string_view::npos) fail(opened, "a quote is opened and never closed");
    append(field, quote);
    at_ = quote + 1;
    if (at_ == text_.size() || text_[at_] != '"') break;
    field += '"';
    ++at_;
  }
  if (at_ < text_.size() && std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos) {
    fail(at_,
         fmt::format("{} follows a closing quote; quotes within a field are doubled",
                     in_quotes(text_.substr(at_, 1))));
  }
}

void CsvReader::read_plain(std::string& field) {
  append(field, std::min(text_.find_first_of(",\r\n\"", at_), text_.size()));
  if (at_ < text_.size() && text_[at_] == '"') fail(at_, "a quote within an unquoted field");
}

void CsvReader::append(std::string& field, std::size_t stop) {
  if (field.size() + (stop - at_) > kLargestText) {
    fail(start_, fmt::format("a field of more than {} bytes", kLargestText));
  }
  field += text_.substr(at_, stop - at_);
  at_ = stop;
}

void CsvReader::fail_record(const std::string& what) const { fail(start_, what); }

void CsvReader::fail(std::size_t at, const std::string& what) const {
  fail_at(name_, text_, at, what);
}

}  // namespace matapprox::tasks
