#include <fmt/format.h>

#include <string>
#include <string_view>

#include "attention/tasks/import/csv_reader.hpp"
#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// Records "class","title","description".
namespace matapprox::tasks {
namespace {

constexpr std::size_t kNewsColumns = 3;
constexpr Index kNewsClasses = 4;

Index news_label(const CsvReader& reader) {
  const std::string& field = reader.fields()[0];
  const bool legal = field.size() == 1 && field[0] >= '1' && field[0] <= '0' + kNewsClasses;
  if (!legal) reader.fail_record(fmt::format("label {} is outside 1..4", in_quotes(field)));
  return field[0] - '1';
}

}  // namespace

void parse_ag_news(std::string_view text,
                   const std::string& name,
                   std::optional<Split> split,
                   TokenBuilder& builder) {
  CsvReader reader(without_byte_order_mark(text), name);
  bool first = true;
  bool any = false;
  while (reader.advance(kNewsColumns)) {
    const std::size_t columns = reader.fields().size();
    if (columns < kNewsColumns) {
      reader.fail_record(
          fmt::format("{} columns; there must be 3: class, title, description", columns));
    }
    const bool header = first && reader.fields()[0] == "Class Index";
    first = false;
    if (header) continue;
    any = true;
    const Index label = news_label(reader);
    builder.add_text(reader.fields()[1] + " " + reader.fields()[2], label, split, name);
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
