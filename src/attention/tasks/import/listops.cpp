#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "attention/tasks/import/folders.hpp"
#include "attention/tasks/import/importers.hpp"
#include "io/line_reader.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"

// Lines "( ( ( [MAX 2 ) 9 ) ] )<TAB>9". The round brackets only repeat the structure of the square
// ones.
namespace matapprox::tasks {
namespace {

constexpr std::array<std::string_view, 15> kListopsTokens{
    "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "[MIN", "[MAX", "[MED", "[SM", "]"};

bool separates_listops(char c) { return is_blank(c) || c == '(' || c == ')'; }

class ListopsLine {
 public:
  ListopsLine(const std::string& name, std::string_view text, const LineReader& lines)
      : name_(name), text_(text), lines_(lines) {}

  /// Fills the tokens of the line and returns the label.
  Index read(std::vector<std::int32_t>& tokens) const {
    const std::string_view line = lines_.line();
    if (line.size() > kLargestText) fail(fmt::format("a line of {} bytes", line.size()));
    const std::size_t tab = line.find('\t');
    if (tab == std::string_view::npos || line.find('\t', tab + 1) != std::string_view::npos) {
      fail("there must be two columns, Source and Target, with a tab between them");
    }
    read_source(line.substr(0, tab), tokens);
    const std::string_view target = trimmed(line.substr(tab + 1));
    if (target.size() != 1 || target[0] < '0' || target[0] > '9') {
      fail(fmt::format("label {} is outside 0..9", in_quotes(target)));
    }
    return target[0] - '0';
  }

 private:
  void read_source(std::string_view source, std::vector<std::int32_t>& tokens) const {
    tokens.clear();
    for (std::size_t at = 0; at < source.size();) {
      if (separates_listops(source[at])) {
        ++at;
        continue;
      }
      std::size_t stop = at;
      while (stop < source.size() && !separates_listops(source[stop])) ++stop;
      const std::string_view word = source.substr(at, stop - at);
      const auto* const found = std::find(kListopsTokens.begin(), kListopsTokens.end(), word);
      if (found == kListopsTokens.end()) {
        fail(fmt::format("{} is not a token; tokens are 0..9, [MIN, [MAX, [MED, [SM and ]",
                         in_quotes(word)));
      }
      tokens.push_back(static_cast<std::int32_t>(found - kListopsTokens.begin()));
      at = stop;
    }
    if (tokens.empty()) fail("the column Source is empty");
  }

  [[noreturn]] void fail(const std::string& what) const {
    fail_at(name_, text_, lines_.start(), what);
  }

  const std::string& name_;
  std::string_view text_;
  const LineReader& lines_;
};

void read_listops(const SplitFile& file, TokenBuilder& builder) {
  const InputBytes bytes = read_all(file.path);
  const std::string_view text = without_byte_order_mark(bytes);
  LineReader lines(text);
  if (!lines.advance()) fail_in(file.path, "the file is empty");
  if (trimmed(lines.line()) != "Source\tTarget") {
    fail_at_line(
        file.path,
        1,
        fmt::format("the first line is {}; it must be Source<TAB>Target", in_quotes(lines.line())));
  }
  std::vector<std::int32_t> tokens;
  while (lines.advance()) {
    const Index label = ListopsLine(file.path, text, lines).read(tokens);
    builder.add(tokens, label, file.split, file.path);
  }
}

}  // namespace

TokenSet import_listops(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, std::ssize(kListopsTokens), 10);
  builder.set().token_names.assign(kListopsTokens.begin(), kListopsTokens.end());
  for (const SplitFile& file : split_files(path, ".tsv")) read_listops(file, builder);
  return builder.finish();
}

}  // namespace matapprox::tasks
