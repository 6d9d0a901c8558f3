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

void TokenBuilder::add(std::span<const std::int32_t> tokens,
                       Index label,
                       std::optional<Split> split,
                       const std::string& place) {
  if (tokens.empty()) fail_in(place, "the sequence is empty");
  if (std::ssize(tokens) < options_.min_length) return;
  const auto kept = kept_part(tokens, options_);
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

void TokenBuilder::add_bytes(std::string_view text,
                             Index label,
                             std::optional<Split> split,
                             const std::string& place) {
  buffer_.resize(text.size());
  std::transform(text.begin(), text.end(), buffer_.begin(), [](char c) {
    return static_cast<unsigned char>(c);
  });
  add(buffer_, label, split, place);
}

TokenSet TokenBuilder::finish() {
  if (set_.ends.empty()) {
    fail_in(set_.source,
            options_.min_length > 0
                ? fmt::format("no sequence has {} tokens or more", options_.min_length)
                : "no sequences");
  }
  return std::move(set_);
}

}  // namespace matapprox::tasks
