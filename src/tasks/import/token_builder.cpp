#include "tasks/import/token_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/text_place.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::tasks {

TokenBuilder::TokenBuilder(const ImportOptions& options,
                           std::string source,
                           Index vocabulary,
                           Index classes)
    : options_(options) {
  set_.vocabulary = vocabulary;
  set_.classes = classes;
  set_.source = std::move(source);
}

TokenBuilder::TokenBuilder(const ImportOptions& options,
                           std::string source,
                           TextTokenizer tokenizer,
                           Index classes)
    : TokenBuilder(options, std::move(source), tokenizer.vocabulary(), classes) {
  tokenizer_ = std::move(tokenizer);
}

void TokenBuilder::add(std::span<const std::int32_t> tokens,
                       Index label,
                       std::optional<Split> split,
                       const std::string& place) {
  if (tokens.empty()) fail_in(place, "the sequence is empty");
  if (std::ssize(tokens) < options_.min_length) return;
  append(kept_part(tokens, options_), label, split, place);
}

void TokenBuilder::append(std::span<const std::int32_t> kept,
                          Index label,
                          std::optional<Split> split,
                          const std::string& place) {
  if (std::ssize(kept) > kLongestSequence) {
    fail_in(place,
            fmt::format(
                "{} tokens, at most {} are read; max_length cuts", kept.size(), kLongestSequence));
  }
  std::vector<std::int32_t>& all = set_.tokens;
  if (all.size() + kept.size() > all.capacity()) {
    const std::size_t larger = std::max(all.size() + kept.size(), all.size() + all.size() / 2);
    require_memory(4.0 * static_cast<double>(larger), set_.source);
    all.reserve(larger);
  }
  all.insert(all.end(), kept.begin(), kept.end());
  set_.ends.push_back(std::ssize(all));
  set_.labels.push_back(static_cast<std::int32_t>(label));
  if (split) set_.splits.push_back(*split);
}

std::span<const std::int32_t> TokenBuilder::tokens_of(std::string_view text,
                                                      std::optional<Split> split,
                                                      const std::string& place,
                                                      std::vector<std::int32_t>& tokens) {
  tokens.clear();
  tokenizer_.append(text, split.value_or(Split::kTrain) == Split::kTrain, tokens);
  if (tokens.empty()) fail_in(place, text.empty() ? "the text is empty" : "no words in the text");
  return tokens;
}

void TokenBuilder::add_text(std::string_view text,
                            Index label,
                            std::optional<Split> split,
                            const std::string& place) {
  add(tokens_of(text, split, place, buffer_), label, split, place);
}

void TokenBuilder::add_texts(std::string_view first,
                             std::string_view second,
                             Index label,
                             std::optional<Split> split,
                             const std::string& place) {
  const auto kept_first = kept_part(tokens_of(first, split, place, buffer_), options_);
  const auto kept_second = kept_part(tokens_of(second, split, place, second_), options_);
  std::vector<std::int32_t> both(kept_first.begin(), kept_first.end());
  both.push_back(tokenizer_.separator());
  both.insert(both.end(), kept_second.begin(), kept_second.end());
  if (std::ssize(both) >= options_.min_length) append(both, label, split, place);
}

TokenSet TokenBuilder::finish() {
  if (set_.ends.empty()) {
    fail_in(set_.source,
            options_.min_length > 0
                ? fmt::format("no sequence has {} tokens or more", options_.min_length)
                : "no sequences");
  }
  if (auto names = tokenizer_.finish(set_.tokens, set_.source); !names.empty()) {
    set_.vocabulary = std::ssize(names);
    set_.token_names = std::move(names);
  }
  return std::move(set_);
}

}  // namespace matapprox::tasks
