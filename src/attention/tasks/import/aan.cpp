#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// Lines "label<TAB>id1<TAB>id2<TAB>text1<TAB>text2" without a header; label 1: one document cites
// the other.
namespace matapprox::tasks {
namespace {

Index retrieval_label(std::string_view field) {
  if (field == "0" || field == "0.0") return 0;
  if (field == "1" || field == "1.0") return 1;
  return -1;
}

std::vector<std::string_view> tab_separated(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t stop = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, stop - at));
    at = stop + 1;
  }
  return fields;
}

void read_retrieval(const SplitFile& file, TokenBuilder& builder) {
  const InputBytes bytes = read_all(file.path);
  const std::string_view text = without_byte_order_mark(bytes);
  LineReader lines(text);
  Index line = 0;
  while (lines.advance()) {
    ++line;
    if (lines.line().size() > kLargestText) {
      fail_at_line(file.path, line, fmt::format("a line of {} bytes", lines.line().size()));
    }
    const auto fields = tab_separated(lines.line());
    if (fields.size() != 5) {
      fail_at_line(
          file.path,
          line,
          fmt::format("{} columns; there must be 5: label, id, id, text, text", fields.size()));
    }
    const Index label = retrieval_label(fields[0]);
    if (label < 0) {
      fail_at_line(file.path, line, fmt::format("label {} is not 0 or 1", in_quotes(fields[0])));
    }
    if (fields[3].empty() || fields[4].empty()) fail_at_line(file.path, line, "a text is empty");
    builder.add_texts(
        fields[3], fields[4], label, file.split, fmt::format("{}:{}", file.path, line));
  }
  if (line == 0) fail_in(file.path, "the file is empty");
}

}  // namespace

TokenSet import_aan(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, text_tokenizer(options, true), 2);
  for (const SplitFile& file : split_files(path, ".tsv")) read_retrieval(file, builder);
  return builder.finish();
}

}  // namespace matapprox::tasks
