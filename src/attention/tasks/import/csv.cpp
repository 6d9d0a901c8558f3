#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "attention/tasks/import/csv_reader.hpp"
#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "matapprox/core/memory.hpp"
#include "matapprox/core/require.hpp"

// Records, the first of which names the columns. A row has a class, or several labels, in one field
// with separators between them or as columns of zeros and ones.
namespace matapprox::tasks {
namespace {

constexpr std::size_t kMaxColumns = 10000;

std::vector<std::string_view> separated(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t stop = std::min(text.find(separator, at), text.size());
    parts.push_back(trimmed(text.substr(at, stop - at)));
    at = stop + separator.size();
  }
  return parts;
}

/// Indices of the columns with these names, separated by commas, in the first record.
std::vector<std::size_t> columns_of(const CsvReader& reader, const std::string& names) {
  const std::vector<std::string>& fields = reader.fields();
  std::vector<std::size_t> columns;
  for (const std::string_view name : separated(names, ",")) {
    const auto found = std::find(fields.begin(), fields.end(), name);
    if (found == fields.end())
      reader.fail_record(fmt::format("there is no column {} in the first line", in_quotes(name)));
    if (std::find(found + 1, fields.end(), name) != fields.end())
      reader.fail_record(fmt::format("two columns {} in the first line", in_quotes(name)));
    columns.push_back(static_cast<std::size_t>(found - fields.begin()));
  }
  return columns;
}

std::int32_t class_number(std::string_view name, const CsvReader& reader, ClassNumbers& numbers) {
  if (name.find_first_of(std::string_view("\n\r\0", 3)) != std::string_view::npos)
    reader.fail_record(fmt::format("the label {} has a line end or a zero byte", in_quotes(name)));
  auto found = numbers.find(name);
  if (found == numbers.end()) found = numbers.emplace(name, std::ssize(numbers)).first;
  return static_cast<std::int32_t>(found->second);
}

bool is_set(const std::string& field, const CsvReader& reader, const std::string& column) {
  if (field == "1" || field == "1.0") return true;
  if (field != "0" && field != "0.0")
    reader.fail_record(fmt::format("{} in column '{}' is not 0 or 1", in_quotes(field), column));
  return false;
}

/// The columns of each record that are read.
struct CsvColumns {
  std::vector<std::size_t> texts;
  std::vector<std::size_t> labels;
  std::vector<std::string> label_names;
};

/// The labels of a record, or its single class.
std::vector<std::int32_t> labels_of(const CsvReader& reader,
                                    const CsvColumns& columns,
                                    const ImportOptions& options,
                                    ClassNumbers& numbers) {
  std::vector<std::int32_t> labels;
  if (columns.labels.size() > 1) {
    for (std::size_t k = 0; k < columns.labels.size(); ++k) {
      const std::int32_t number = class_number(columns.label_names[k], reader, numbers);
      if (is_set(reader.fields()[columns.labels[k]], reader, columns.label_names[k]))
        labels.push_back(number);
    }
    return labels;
  }
  const std::string_view field = reader.fields()[columns.labels.front()];
  if (options.label_separator.empty()) {
    const std::string_view name = trimmed(field);
    if (name.empty()) reader.fail_record("the label is empty");
    return {class_number(name, reader, numbers)};
  }
  for (const std::string_view name : separated(field, options.label_separator)) {
    if (!name.empty()) labels.push_back(class_number(name, reader, numbers));
  }
  return labels;
}

std::string text_of(const CsvReader& reader, const CsvColumns& columns) {
  std::string text;
  for (const std::size_t column : columns.texts) {
    if (!text.empty()) text += ' ';
    text += reader.fields()[column];
  }
  return text;
}

}  // namespace

std::vector<std::int32_t> sorted_classes(const ClassNumbers& numbers, TokenSet& set) {
  std::vector<std::int32_t> sorted(numbers.size());
  for (const auto& [name, number] : numbers) {
    sorted[static_cast<std::size_t>(number)] = static_cast<std::int32_t>(set.class_names.size());
    set.class_names.push_back(name);
  }
  set.classes = std::ssize(numbers);
  return sorted;
}

bool has_label_sets(const ImportOptions& options) {
  return !options.label_separator.empty() || options.label_columns.find(',') != std::string::npos;
}

void parse_csv(std::string_view text,
               const std::string& name,
               std::optional<Split> split,
               LabelLists& labels,
               TokenBuilder& builder) {
  const ImportOptions& options = builder.options();
  CsvReader reader(without_byte_order_mark(text), name);
  if (!reader.advance(kMaxColumns)) fail_in(name, "the file is empty");
  CsvColumns columns{
      columns_of(reader, options.text_columns), columns_of(reader, options.label_columns), {}};
  for (const std::size_t column : columns.labels)
    columns.label_names.push_back(reader.fields()[column]);
  const std::size_t width = reader.fields().size();
  while (reader.advance(width)) {
    if (reader.fields().size() != width) {
      reader.fail_record(
          fmt::format("{} columns; the first line has {}", reader.fields().size(), width));
    }
    const std::string words = text_of(reader, columns);
    if (words.empty()) {
      if (options.skip_empty) continue;
      reader.fail_record("the text is empty; skip_empty leaves such rows out");
    }
    std::vector<std::int32_t> own = labels_of(reader, columns, options, labels.numbers);
    const Index before = builder.size();
    builder.add_text(words, 0, split, name);
    if (builder.size() > before) labels.rows.push_back(std::move(own));
  }
}

void set_labels(const LabelLists& labels, bool sets, TokenSet& set) {
  const std::vector<std::int32_t> sorted = sorted_classes(labels.numbers, set);
  set.labels.clear();
  if (!sets) {
    for (const auto& row : labels.rows)
      set.labels.push_back(sorted[static_cast<std::size_t>(row.front())]);
    return;
  }
  const std::size_t width = labels.numbers.size();
  require_memory(static_cast<double>(width) * static_cast<double>(labels.rows.size()), set.source);
  set.targets.assign(width * labels.rows.size(), 0);
  for (std::size_t i = 0; i < labels.rows.size(); ++i) {
    for (const std::int32_t label : labels.rows[i]) {
      const auto column = static_cast<std::size_t>(sorted[static_cast<std::size_t>(label)]);
      set.targets[i * width + column] = 1;
    }
  }
}

TokenSet import_csv(const std::string& path, const ImportOptions& options) {
  require(!options.text_columns.empty() && !options.label_columns.empty(),
          "import: text_columns and label_columns must name columns");
  require(options.label_separator.empty() || options.label_columns.find(',') == std::string::npos,
          "import: label_separator is for a single label column");
  TokenBuilder builder(options, path, text_tokenizer(options), 1);
  LabelLists labels;
  for (const SplitFile& file : split_files(path, ".csv")) {
    const InputBytes bytes = read_all(file.path);
    parse_csv(bytes, file.path, file.split, labels, builder);
  }
  if (labels.rows.empty()) return builder.finish();  // throws
  if (labels.numbers.empty()) fail_in(path, "no row has a label");
  set_labels(labels, has_label_sets(options), builder.set());
  return builder.finish();
}

}  // namespace matapprox::tasks
