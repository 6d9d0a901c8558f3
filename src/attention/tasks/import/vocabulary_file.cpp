#include <fmt/format.h>

#include "attention/tasks/import/text_tokens.hpp"
#include "io/table_reader.hpp"
#include "io/text_input.hpp"
#include "matapprox/attention/tasks/token_set.hpp"
#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

constexpr Index kMaxVocabulary = Index{1} << 24;

/// Reads the vocabulary of a token file, or the lines of any other file.
std::vector<std::string> read_vocabulary(const std::string& path) {
  const InputBytes bytes = read_all(path);
  if (!bytes.view().starts_with("\x89HDF\r\n\x1a\n")) return parse_vocabulary(bytes, path);
  std::vector<std::string> names = read_token_file(path).token_names;
  if (names.empty()) fail_in(path, "a token file without token_names: its tokens are not words");
  return names;
}

}  // namespace

TextTokenizer text_tokenizer(const ImportOptions& options, bool separator) {
  const bool has_file = !options.vocabulary_file.empty();
  const std::string_view kind = enum_name(options.tokens);
  if (options.tokens == TextTokens::kBytes) {
    require(options.vocabulary == 0 && !has_file,
            "import: vocabulary and vocabulary_file are for tokens words or subwords, not bytes");
    return TextTokenizer(separator);
  }
  if (has_file) {
    require(options.vocabulary == 0,
            "import: vocabulary {} and vocabulary_file exclude each other",
            options.vocabulary);
    return {read_vocabulary(options.vocabulary_file),
            options.tokens == TextTokens::kSubwords,
            separator,
            options.vocabulary_file};
  }
  require(options.tokens == TextTokens::kWords,
          "import: tokens {} need a vocabulary_file with the pieces",
          kind);
  constexpr Index kReserved = 3;
  require(options.vocabulary > kReserved && options.vocabulary <= kMaxVocabulary,
          "import: vocabulary {} is outside {}..{}, the token ids of tokens words",
          options.vocabulary,
          kReserved + 1,
          kMaxVocabulary);
  return {options.vocabulary, separator};
}

}  // namespace matapprox::tasks
