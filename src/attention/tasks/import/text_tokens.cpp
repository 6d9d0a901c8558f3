#include "attention/tasks/import/text_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "io/line_reader.hpp"
#include "io/table_reader.hpp"

namespace matapprox::tasks {
namespace {

constexpr Index kByteTokens = 256;

bool separates_words(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_dropped(char c) {
  constexpr unsigned char kDelete = 0x7F;
  const auto byte = static_cast<unsigned char>(c);
  return byte == kDelete || (byte < ' ' && !separates_words(c));
}

bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

char in_lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// True for a byte of UTF-8 that does not continue a character.
bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

std::size_t characters_in(const std::string& word) {
  return static_cast<std::size_t>(std::count_if(word.begin(), word.end(), begins_character));
}

}  // namespace

bool WordReader::advance() {
  word_.clear();
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (is_dropped(c)) continue;
    if (separates_words(c)) {
      if (!word_.empty()) return true;
    } else if (is_punctuation(c)) {
      if (!word_.empty()) return true;
      word_ += c;
      ++at_;
      return true;
    } else {
      word_ += in_lower_case(c);
    }
  }
  return !word_.empty();
}

std::vector<std::string> parse_vocabulary(std::string_view text, const std::string& name) {
  const std::string_view whole = without_byte_order_mark(text);
  std::vector<std::string> vocabulary;
  std::unordered_map<std::string_view, Index> lines;
  LineReader reader(whole);
  for (Index line = 1; reader.advance(); ++line) {
    if (reader.line().empty()) fail_at_line(name, line, "a line without a token");
    if (reader.line().find('\0') != std::string_view::npos)
      fail_at_line(name, line, fmt::format("{} has a zero byte", in_quotes(reader.line())));
    const auto [found, is_new] = lines.emplace(reader.line(), line);
    if (!is_new) {
      fail_at_line(name,
                   line,
                   fmt::format("{} is also in line {}", in_quotes(reader.line()), found->second));
    }
    vocabulary.emplace_back(reader.line());
  }
  if (lines.find(kUnknownToken) == lines.end())
    fail_in(name, fmt::format("no line is {}, the token for unknown words", kUnknownToken));
  return vocabulary;
}

TextTokenizer::TextTokenizer(bool separator)
    : separator_(separator ? static_cast<std::int32_t>(kByteTokens) : -1) {}

TextTokenizer::TextTokenizer(Index vocabulary, bool separator)
    : kind_(Kind::kCountedWords), limit_(vocabulary), unknown_(1) {
  names_ = {std::string(kPaddingToken), std::string(kUnknownToken)};
  if (separator) {
    separator_ = static_cast<std::int32_t>(names_.size());
    names_.emplace_back(kSeparatorToken);
  }
  counts_.resize(names_.size());
}

TextTokenizer::TextTokenizer(std::vector<std::string> vocabulary,
                             bool pieces,
                             bool separator,
                             const std::string& name)
    : kind_(pieces ? Kind::kPieces : Kind::kListedWords), names_(std::move(vocabulary)) {
  for (std::size_t id = 0; id < names_.size(); ++id) {
    longest_piece_ = std::max(longest_piece_, names_[id].size());
    ids_.emplace(names_[id], static_cast<std::int32_t>(id));
  }
  unknown_ = id_of(kUnknownToken);
  if (unknown_ < 0) fail_in(name, fmt::format("the vocabulary has no {}", kUnknownToken));
  if (!separator) return;
  separator_ = id_of(kSeparatorToken);
  if (separator_ < 0) {
    fail_in(name,
            fmt::format("the vocabulary has no {}, the separator of two texts", kSeparatorToken));
  }
}

std::int32_t TextTokenizer::id_of(std::string_view word) const {
  const auto found = ids_.find(word);
  return found == ids_.end() ? -1 : found->second;
}

void TextTokenizer::append_bytes(std::string_view text, std::vector<std::int32_t>& tokens) const {
  for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
}

void TextTokenizer::append_counted(const std::string& word,
                                   bool counted,
                                   std::vector<std::int32_t>& tokens) {
  std::int32_t id = id_of(word);
  if (id < 0) {
    id = static_cast<std::int32_t>(names_.size());
    ids_.emplace(word, id);
    names_.push_back(word);
    counts_.push_back(0);
  }
  counts_[static_cast<std::size_t>(id)] += counted ? 1 : 0;
  tokens.push_back(id);
}

void TextTokenizer::append_pieces(const std::string& word, std::vector<std::int32_t>& tokens) {
  const std::size_t before = tokens.size();
  for (std::size_t at = 0; at < word.size();) {
    piece_ = at == 0 ? "" : "##";
    const std::size_t prefix = piece_.size();
    std::size_t count = std::min(word.size() - at, longest_piece_);
    std::int32_t id = -1;
    piece_.append(word, at, count);
    for (; count > 0; --count) {
      piece_.resize(prefix + count);
      id = id_of(piece_);
      if (id >= 0) break;
    }
    if (id < 0) {
      tokens.resize(before);
      tokens.push_back(unknown_);
      return;
    }
    tokens.push_back(id);
    at += count;
  }
}

void TextTokenizer::append(std::string_view text, bool counted, std::vector<std::int32_t>& tokens) {
  if (kind_ == Kind::kBytes) return append_bytes(text, tokens);
  WordReader words(text);
  while (words.advance()) {
    if (characters_in(words.word()) > kLongestWord) {
      tokens.push_back(unknown_);
    } else if (kind_ == Kind::kCountedWords) {
      append_counted(words.word(), counted, tokens);
    } else if (kind_ == Kind::kPieces) {
      append_pieces(words.word(), tokens);
    } else {
      const std::int32_t id = id_of(words.word());
      tokens.push_back(id < 0 ? unknown_ : id);
    }
  }
}

std::vector<std::string> TextTokenizer::finish(std::vector<std::int32_t>& tokens,
                                               const std::string& source) {
  if (kind_ != Kind::kCountedWords) return names_;
  const std::size_t reserved = separator_ < 0 ? 2 : 3;
  std::vector<std::size_t> order(names_.size() - reserved);
  std::iota(order.begin(), order.end(), reserved);
  std::erase_if(order, [&](std::size_t id) { return counts_[id] == 0; });
  if (order.empty()) {
    fail_in(source,
            "there is no training text to count words in; vocabulary_file takes the words of "
            "another file");
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : names_[a] < names_[b];
  });
  order.resize(std::min(order.size(), static_cast<std::size_t>(limit_) - reserved));
  std::vector<std::int32_t> final_ids(names_.size(), unknown_);
  std::iota(final_ids.begin(), final_ids.begin() + static_cast<Index>(reserved), 0);
  std::vector<std::string> names(names_.begin(), names_.begin() + static_cast<Index>(reserved));
  for (const std::size_t id : order) {
    final_ids[id] = static_cast<std::int32_t>(names.size());
    names.push_back(names_[id]);
  }
  for (std::int32_t& token : tokens) token = final_ids[static_cast<std::size_t>(token)];
  names_ = names;
  return names;
}

Index TextTokenizer::vocabulary() const {
  if (kind_ == Kind::kBytes) return kByteTokens + (separator_ < 0 ? 0 : 1);
  return std::ssize(names_);
}

}  // namespace matapprox::tasks
