#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "matapprox/attention/tasks/import.hpp"

namespace matapprox::tasks {

/// Tokens that are not words of a text; the vocabulary contains their names.
inline constexpr std::string_view kPaddingToken = "[PAD]";
inline constexpr std::string_view kUnknownToken = "[UNK]";
inline constexpr std::string_view kSeparatorToken = "[SEP]";

/// Characters of the longest word; longer ones count as unknown, as in [DCLT19].
inline constexpr std::size_t kLongestWord = 100;

/// Reads the words of a text in turn. Spaces, tabs and line ends separate words, each ASCII
/// punctuation mark is a separate word, A..Z become a..z, other control characters are dropped, and
/// bytes beyond ASCII are letters that stay unchanged. For ASCII text this is the result of the
/// tokenizer of [DCLT19].
class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}
  /// Advances to the next word; false at the end.
  bool advance();
  const std::string& word() const { return word_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
};

/// The lines of a vocabulary file, one token each; the first has id 0. Throws FileError for a line
/// that is empty, occurs twice or has a zero byte, and unless [UNK] is one of them.
std::vector<std::string> parse_vocabulary(std::string_view text, const std::string& name);

/// Turns texts into token ids.
class TextTokenizer {
 public:
  /// Bytes as ids 0..255; with a separator that is 256.
  explicit TextTokenizer(bool separator = false);
  /// Words; the vocabulary is chosen at the end: the most frequent words of all counted texts.
  /// Ids: [PAD] 0, [UNK] 1, [SEP] 2 if there is one, then words by descending frequency, ties by
  /// their bytes. `vocabulary` is the largest number of ids.
  TextTokenizer(Index vocabulary, bool separator);
  /// Words or, if `pieces` is set, pieces of words that a vocabulary lists. The longest piece that
  /// begins a word is taken, then the longest continuation, which begins with ##; a word for which
  /// that fails is [UNK] [DCLT19]. `name` is for messages. Throws FileError as parse_vocabulary,
  /// and if a separator is requested and [SEP] is missing.
  TextTokenizer(std::vector<std::string> vocabulary,
                bool pieces,
                bool separator,
                const std::string& name);

  /// Appends the tokens of a text. Ids of words that are being counted are not final before
  /// `finish`.
  void append(std::string_view text, bool counted, std::vector<std::int32_t>& tokens);
  /// The token between two texts; -1 if there is none.
  std::int32_t separator() const { return separator_; }
  /// Makes the ids final and returns their names; none for bytes. Throws FileError, which names
  /// `source`, if no text was counted.
  std::vector<std::string> finish(std::vector<std::int32_t>& tokens, const std::string& source);
  /// Ids are 0 .. vocabulary() - 1, after `finish`.
  Index vocabulary() const;

 private:
  struct WordHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const {
      return std::hash<std::string_view>()(word);
    }
  };
  using Ids = std::unordered_map<std::string, std::int32_t, WordHash, std::equal_to<>>;

  void append_bytes(std::string_view text, std::vector<std::int32_t>& tokens) const;
  void append_counted(const std::string& word, bool counted, std::vector<std::int32_t>& tokens);
  void append_pieces(const std::string& word, std::vector<std::int32_t>& tokens);
  /// The id of a word or piece of the vocabulary; -1 if there is none.
  std::int32_t id_of(std::string_view word) const;

  enum class Kind { kBytes, kCountedWords, kListedWords, kPieces };
  Kind kind_ = Kind::kBytes;
  Index limit_ = 0;  ///< largest number of ids, if words are counted
  std::int32_t separator_ = -1;
  std::int32_t unknown_ = 0;
  std::vector<std::string> names_;
  Ids ids_;
  std::vector<Index> counts_;      ///< occurrences of the ids, if words are counted
  std::size_t longest_piece_ = 0;  ///< in bytes
  std::string piece_;
};

/// The tokenizer that the options select. Throws InvalidArgument for options that contradict each
/// other, FileError for a vocabulary that cannot be read.
TextTokenizer text_tokenizer(const ImportOptions& options, bool separator = false);

}  // namespace matapprox::tasks
