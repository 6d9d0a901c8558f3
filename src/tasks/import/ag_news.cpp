#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "io/line_reader.hpp"
#include "io/text_input.hpp"
#include "io/text_place.hpp"
#include "tasks/import/folders.hpp"
#include "tasks/import/importers.hpp"

// Records "class","title","description"; quotes within quotes are doubled, quoted fields may hold
// line ends.
namespace matapprox::tasks {
namespace {

constexpr std::size_t kNewsColumns = 3;
constexpr Index kNewsClasses = 4;

class NewsReader {
 public:
  NewsReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::array<std::string, kNewsColumns> fields;

  /// Reads the next record; false at the end.
  bool advance() {
    while (at_ < text_.size() && (text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
    if (at_ == text_.size()) return false;
    start_ = at_;
    for (std::size_t column = 0;; ++column) {
      if (column == kNewsColumns) fail(start_, "more than 3 columns");
      fields[column].clear();
      if (at_ < text_.size() && text_[at_] == '"') {
        read_quoted(fields[column]);
      } else {
        read_plain(fields[column]);
      }
      const bool more = at_ < text_.size() && text_[at_] == ',';
      if (more) {
        ++at_;
      } else if (column + 1 == kNewsColumns) {
        return true;
      } else {
        fail(start_,
             fmt::format("{} columns, there must be 3: class, title, description", column + 1));
      }
    }
  }

  [[noreturn]] void fail_record(const std::string& what) const { fail(start_, what); }

 private:
  void read_quoted(std::string& field) {
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
    if (at_ < text_.size() &&
        std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos) {
      fail(at_,
           fmt::format("{} follows a closing quote; quotes within a field are doubled",
                       in_quotes(text_.substr(at_, 1))));
    }
  }

  void read_plain(std::string& field) {
    append(field, std::min(text_.find_first_of(",\r\n\"", at_), text_.size()));
    if (at_ < text_.size() && text_[at_] == '"') fail(at_, "a quote within a field without quotes");
  }

  /// Takes the text up to `stop`.
  void append(std::string& field, std::size_t stop) {
    if (field.size() + (stop - at_) > kLargestText) {
      fail(start_, fmt::format("a field of more than {} bytes", kLargestText));
    }
    field += text_.substr(at_, stop - at_);
    at_ = stop;
  }

  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    fail_at(name_, text_, at, what);
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
};

Index news_label(const NewsReader& reader) {
  const std::string& field = reader.fields[0];
  const bool legal = field.size() == 1 && field[0] >= '1' && field[0] <= '0' + kNewsClasses;
  if (!legal) reader.fail_record(fmt::format("label {} is outside 1..4", in_quotes(field)));
  return field[0] - '1';
}

}  // namespace

void parse_ag_news(std::string_view text,
                   const std::string& name,
                   std::optional<Split> split,
                   TokenBuilder& builder) {
  NewsReader reader(without_byte_order_mark(text), name);
  bool first = true;
  bool any = false;
  while (reader.advance()) {
    const bool header = first && reader.fields[0] == "Class Index";
    first = false;
    if (header) continue;
    any = true;
    const Index label = news_label(reader);
    builder.add_text(reader.fields[1] + " " + reader.fields[2], label, split, name);
  }
  if (!any) fail_in(name, "there are no records in the file");
}

TokenSet import_ag_news(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, text_tokenizer(options), kNewsClasses);
  builder.set().class_names = {"World", "Sports", "Business", "Sci/Tech"};
  for (const SplitFile& file : split_files(path, ".csv")) {
    const InputBytes bytes = read_all(file.path);
    parse_ag_news(bytes, file.path, file.split, builder);
  }
  return builder.finish();
}

}  // namespace matapprox::tasks
