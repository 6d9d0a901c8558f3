#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention/tasks/import/text_tokens.hpp"
#include "matapprox/attention/tasks/import.hpp"

namespace matapprox::tasks {

/// Bytes of the longest line of a text file and of the longest file of one text; a longer one is no
/// data set of text.
inline constexpr std::size_t kLargestText = std::size_t{1} << 24;

/// Collects sequences, truncated according to the options.
class TokenBuilder {
 public:
  TokenBuilder(ImportOptions options, std::string source, Index vocabulary, Index classes);
  /// For texts; the vocabulary is the tokenizer's.
  TokenBuilder(ImportOptions options, std::string source, TextTokenizer tokenizer, Index classes);

  /// `place` is for messages: file, and line or record. Throws NotAvailable if memory is short,
  /// FileError if the sequence is empty or longer than kLongestSequence.
  void add(std::span<const std::int32_t> tokens,
           Index label,
           std::optional<Split> split,
           const std::string& place);
  /// Adds tokens of `features` numbers each, the same number for all sequences.
  void add_features(std::span<const float> values,
                    Index features,
                    Index label,
                    std::optional<Split> split,
                    const std::string& place);
  /// Adds the tokens of a text. Throws FileError if it has none.
  void add_text(std::string_view text,
                Index label,
                std::optional<Split> split,
                const std::string& place);
  /// Adds the tokens of two texts, each truncated, with the separator between them.
  void add_texts(std::string_view first,
                 std::string_view second,
                 Index label,
                 std::optional<Split> split,
                 const std::string& place);

  const ImportOptions& options() const { return options_; }
  Index size() const { return set_.size(); }
  /// Returns the set; throws FileError if it is empty.
  TokenSet finish();
  /// The set, for members that are known only at the end.
  TokenSet& set() { return set_; }

 private:
  /// Reserves room for `more` further values in `all`.
  template <class Value>
  void reserve_more(std::vector<Value>& all, std::size_t more) const;
  /// Records the length, the answer and the split of the sequence that has been added.
  void end_sequence(Index label, std::optional<Split> split);
  /// The tokens of a text, at least one; they are counted if it is a training text.
  std::span<const std::int32_t> tokens_of(std::string_view text,
                                          std::optional<Split> split,
                                          const std::string& place,
                                          std::vector<std::int32_t>& tokens);
  void append(std::span<const std::int32_t> kept,
              Index label,
              std::optional<Split> split,
              const std::string& place);

  ImportOptions options_;
  TextTokenizer tokenizer_;
  TokenSet set_;
  std::vector<std::int32_t> buffer_;
  std::vector<std::int32_t> second_;
};

/// The part of a sequence that the options keep.
template <class Value>
std::span<const Value> kept_part(std::span<const Value> whole,
                                 const ImportOptions& options,
                                 std::size_t values_a_token = 1) {
  const std::size_t most = static_cast<std::size_t>(options.max_length) * values_a_token;
  if (most == 0 || whole.size() <= most) return whole;
  return options.keep == KeptPart::kFirst ? whole.first(most) : whole.last(most);
}

}  // namespace matapprox::tasks
