#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// A FASTA text: records of a line ">header" and lines of letters.
namespace matapprox::tasks {
namespace {

constexpr std::array<std::string_view, 5> kBases{"a", "c", "g", "t", "n"};
constexpr std::int32_t kUnknownBase = 4;
constexpr Index kLetters = 26;

/// The token of each byte, -1 for a byte that is no letter of the alphabet.
using LetterTable = std::array<std::int32_t, 256>;

LetterTable base_table() {
  LetterTable table;
  table.fill(-1);
  const auto put = [&](char lower, std::int32_t id) {
    table[static_cast<unsigned char>(lower)] = id;
    table[static_cast<unsigned char>(lower - 'a' + 'A')] = id;
  };
  // IUPAC codes that stand for one of several bases.
  for (const char code : std::string_view("nrykmswbdhv")) put(code, kUnknownBase);
  for (std::size_t k = 0; k < 4; ++k) put(kBases[k][0], static_cast<std::int32_t>(k));
  return table;
}

LetterTable residue_table() {
  LetterTable table;
  table.fill(-1);
  for (char c = 'a'; c <= 'z'; ++c) {
    table[static_cast<unsigned char>(c)] = c - 'a';
    table[static_cast<unsigned char>(c - 'a' + 'A')] = c - 'a';
  }
  return table;
}

struct FastaRecord {
  std::string_view header;  ///< without '>'
  std::vector<std::int32_t> tokens;
  Index line = 0;  ///< line of the header
};

/// Reads the records of a text in turn.
class FastaReader {
 public:
  FastaReader(std::string_view text,
              const std::string& name,
              const LetterTable& table,
              const char* alphabet)
      : lines_(without_byte_order_mark(text)), name_(name), table_(table), alphabet_(alphabet) {
    if (!next_line()) fail_in(name_, "the file is empty");
    if (lines_.line().front() != '>') {
      fail(fmt::format("the first line is {}; it must begin with '>'", in_quotes(lines_.line())));
    }
  }

  FastaRecord record;

  bool advance() {
    if (at_end_) return false;
    record.header = lines_.line().substr(1);
    record.line = line_;
    record.tokens.clear();
    while (next_line() && lines_.line().front() != '>') take_letters();
    if (record.tokens.empty()) fail_at_line(name_, record.line, "the record has no letters");
    return true;
  }

  [[noreturn]] void fail_record(const std::string& what) const {
    fail_at_line(name_, record.line, what);
  }

 private:
  /// Advances to the next line that is not blank; false at the end.
  bool next_line() {
    do {
      if (!lines_.advance()) {
        at_end_ = true;
        return false;
      }
      ++line_;
    } while (trimmed(lines_.line()).empty());
    return true;
  }

  void take_letters() {
    const std::string_view letters = trimmed(lines_.line());
    if (std::ssize(record.tokens) + std::ssize(letters) > kLongestSequence) {
      fail(fmt::format("the record has more than {} letters", kLongestSequence));
    }
    for (const char c : letters) {
      const std::int32_t id = table_[static_cast<unsigned char>(c)];
      if (id < 0) {
        fail(fmt::format("{} is not one of {}", in_quotes(std::string_view(&c, 1)), alphabet_));
      }
      record.tokens.push_back(id);
    }
  }

  [[noreturn]] void fail(const std::string& what) const { fail_at_line(name_, line_, what); }

  LineReader lines_;
  const std::string& name_;
  const LetterTable& table_;
  const char* alphabet_;
  Index line_ = 0;
  bool at_end_ = false;
};

/// The first levels of a dotted name: "a.1" of "a.1.1.1" for two levels.
std::string_view first_levels(std::string_view text, Index levels) {
  if (levels == 0) return text;
  std::size_t stop = 0;
  for (Index k = 0; k < levels; ++k) {
    stop = text.find('.', k == 0 ? 0 : stop + 1);
    if (stop == std::string_view::npos) return text;
  }
  return text.substr(0, stop);
}

std::string_view class_of(const FastaReader& reader, const ImportOptions& options) {
  const auto fields = blank_separated(reader.record.header);
  const Index count = std::ssize(fields);
  const Index wanted = options.class_field == 0 ? std::max<Index>(count, 2) : options.class_field;
  if (wanted > count) {
    reader.fail_record(
        fmt::format("the header has {} fields; the class must be in field {}", count, wanted));
  }
  const auto name =
      first_levels(fields[static_cast<std::size_t>(wanted - 1)], options.class_levels);
  if (name.empty()) reader.fail_record("the class in the header is empty");
  return name;
}

bool is_fasta_name(std::string_view name) {
  if (name.ends_with(".gz")) name.remove_suffix(3);
  return name.ends_with(".fa") || name.ends_with(".fasta") || name.ends_with(".fna");
}

}  // namespace

void parse_genome(std::string_view text,
                  const std::string& name,
                  Index label,
                  TokenBuilder& builder) {
  const LetterTable table = base_table();
  FastaReader reader(text, name, table, "a, c, g, t, n (or another IUPAC code, read as n)");
  while (reader.advance()) builder.add(reader.record.tokens, label, std::nullopt, name);
}

void parse_proteins(std::string_view text,
                    const std::string& name,
                    std::optional<Split> split,
                    ClassNumbers& numbers,
                    TokenBuilder& builder) {
  const LetterTable table = residue_table();
  FastaReader reader(text, name, table, "the letters a..z");
  while (reader.advance()) {
    const std::string_view class_name = class_of(reader, builder.options());
    auto found = numbers.find(class_name);
    if (found == numbers.end()) {
      found = numbers.emplace(class_name, std::ssize(numbers)).first;
    }
    builder.add(reader.record.tokens, found->second, split, name);
  }
}

TokenSet import_genome(const std::string& path, const ImportOptions& options) {
  std::vector<std::string> files = files_in(path);
  std::erase_if(files, [](const std::string& name) { return !is_fasta_name(name); });
  if (files.size() < 2) {
    fail_in(
        path,
        fmt::format("{} files *.fa, *.fasta, *.fna (.gz); one per class is required, so at least 2",
                    files.size()));
  }
  TokenBuilder builder(options, path, std::ssize(kBases), std::ssize(files));
  builder.set().token_names.assign(kBases.begin(), kBases.end());
  for (const std::string& name : files) {
    std::vector<std::string>& classes = builder.set().class_names;
    const Index label = std::ssize(classes);
    classes.push_back(name.substr(0, name.find('.')));
    if (std::count(classes.begin(), classes.end(), classes.back()) > 1) {
      fail_in(path,
              fmt::format("two files are of the class '{}': the class is the part of the name "
                          "before the first dot",
                          classes.back()));
    }
    const std::string file = path_in(path, name);
    const InputBytes bytes = read_all(file);
    parse_genome(bytes, file, label, builder);
  }
  return builder.finish();
}

TokenSet import_proteins(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, kLetters, 1);
  for (char c = 'a'; c <= 'z'; ++c) builder.set().token_names.emplace_back(1, c);
  ClassNumbers numbers;
  for (const SplitFile& file : split_files(path, ".fasta")) {
    const InputBytes bytes = read_all(file.path);
    parse_proteins(bytes, file.path, file.split, numbers, builder);
  }
  const std::vector<std::int32_t> sorted = sorted_classes(numbers, builder.set());
  for (std::int32_t& label : builder.set().labels) label = sorted[static_cast<std::size_t>(label)];
  return builder.finish();
}

}  // namespace matapprox::tasks
