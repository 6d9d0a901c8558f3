#include "attention/tasks/import/token_builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "io/table_reader.hpp"
#include "matapprox/core/memory.hpp"

namespace matapprox::tasks {
namespace {

void require_token_count(Index tokens, const std::string& place) {
  if (tokens <= kLongestSequence) return;
  fail_in(
      place,
      fmt::format(
          "{} tokens; at most {} are read; use max_length to truncate", tokens, kLongestSequence));
}

}  // namespace

TokenBuilder::TokenBuilder(ImportOptions options,
                           std::string source,
                           Index vocabulary,
                           Index classes)
    : options_(std::move(options)) {
  set_.vocabulary = vocabulary;
  set_.classes = classes;
  set_.source = std::move(source);
}

TokenBuilder::TokenBuilder(ImportOptions options,
                           std::string source,
                           TextTokenizer tokenizer,
                           Index classes)
    : TokenBuilder(std::move(options), std::move(source), tokenizer.vocabulary(), classes) {
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
  require_token_count(std::ssize(kept), place);
  reserve_more(set_.tokens, kept.size());
  set_.tokens.insert(set_.tokens.end(), kept.begin(), kept.end());
  end_sequence(label, split);
}

template <class Value>
void TokenBuilder::reserve_more(std::vector<Value>& all, std::size_t more) const {
  if (all.size() + more <= all.capacity()) return;
  const std::size_t larger = std::max(all.size() + more, all.size() + all.size() / 2);
  require_memory(sizeof(Value) * static_cast<double>(larger), set_.source);
  all.reserve(larger);
}

void TokenBuilder::end_sequence(Index label, std::optional<Split> split) {
  set_.ends.push_back(set_.token_count());
  set_.labels.push_back(static_cast<std::int32_t>(label));
  if (split) set_.splits.push_back(*split);
}

void TokenBuilder::add_features(std::span<const float> values,
                                Index features,
                                Index label,
                                std::optional<Split> split,
                                const std::string& place) {
  if (values.empty()) fail_in(place, "the sequence is empty");
  set_.vocabulary = 0;
  set_.features = features;
  const Index tokens = std::ssize(values) / features;
  if (tokens < options_.min_length) return;
  const auto kept = kept_part(values, options_, static_cast<std::size_t>(features));
  require_token_count(std::ssize(kept) / features, place);
  reserve_more(set_.values, kept.size());
  set_.values.insert(set_.values.end(), kept.begin(), kept.end());
  end_sequence(label, split);
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
