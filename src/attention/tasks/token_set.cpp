#include "matapprox/attention/tasks/token_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "matapprox/core/require.hpp"

namespace matapprox::tasks {
namespace {

constexpr Index kMaxIds = std::numeric_limits<std::int32_t>::max();

void check_token_counts(const TokenSet& set, const std::string& who) {
  const std::size_t count = set.ends.size();
  require(count > 0, "{}: there are no sequences", who);
  if (set.features != 0) {
    require(set.features >= 1 && set.features <= kMaxTokenFeatures,
            "{}: {} features of a token, outside 1..{}",
            who,
            set.features,
            kMaxTokenFeatures);
    require(set.vocabulary == 0 && set.tokens.empty(), "{}: both token ids and features", who);
    require(std::ssize(set.values) % set.features == 0,
            "{}: {} numbers, not a multiple of {} features",
            who,
            set.values.size(),
            set.features);
  } else {
    require(set.vocabulary >= 1 && set.vocabulary <= kMaxIds,
            "{}: vocabulary {} is outside 1..{}",
            who,
            set.vocabulary,
            kMaxIds);
    require(set.values.empty(), "{}: both token ids and features", who);
  }
  require(set.classes >= 1 && set.classes <= kMaxIds,
          "{}: {} classes, outside 1..{}",
          who,
          set.classes,
          kMaxIds);
  if (set.has_label_sets()) {
    require(set.labels.empty(), "{}: both labels and sets of labels", who);
    require(std::ssize(set.targets) == set.size() * set.classes,
            "{}: {} targets for {} sequences and {} labels",
            who,
            set.targets.size(),
            count,
            set.classes);
  } else {
    require(
        set.labels.size() == count, "{}: {} sequences, {} labels", who, count, set.labels.size());
  }
  require(set.splits.empty() || set.splits.size() == count,
          "{}: {} sequences, {} splits",
          who,
          count,
          set.splits.size());
  require(set.token_names.empty() || std::ssize(set.token_names) == set.vocabulary,
          "{}: {} names for {} tokens",
          who,
          set.token_names.size(),
          set.vocabulary);
  require(set.class_names.empty() || std::ssize(set.class_names) == set.classes,
          "{}: {} names for {} classes",
          who,
          set.class_names.size(),
          set.classes);
}

void check_answer(const TokenSet& set, Index i, const std::string& who) {
  if (set.has_label_sets()) {
    for (const std::uint8_t target : set.target(i))
      require(target <= 1, "{}: sequence {}: target {} is not 0 or 1", who, i, target);
    return;
  }
  const std::int32_t label = set.labels[static_cast<std::size_t>(i)];
  require(label >= 0 && label < set.classes,
          "{}: sequence {}: label {} is outside 0..{}",
          who,
          i,
          label,
          set.classes - 1);
}

}  // namespace

std::span<const std::uint8_t> TokenSet::target(Index i) const {
  return std::span(targets).subspan(static_cast<std::size_t>(i * classes),
                                    static_cast<std::size_t>(classes));
}

std::span<const std::int32_t> TokenSet::sequence(Index i) const {
  const auto at = static_cast<std::size_t>(i);
  const Index begin = i == 0 ? 0 : ends[at - 1];
  return std::span(tokens).subspan(static_cast<std::size_t>(begin),
                                   static_cast<std::size_t>(ends[at] - begin));
}

std::span<const float> TokenSet::feature_rows(Index i) const {
  const Index begin = ends[static_cast<std::size_t>(i)] - length(i);
  return std::span(values).subspan(static_cast<std::size_t>(begin * features),
                                   static_cast<std::size_t>(length(i) * features));
}

Index TokenSet::length(Index i) const {
  const auto at = static_cast<std::size_t>(i);
  return ends[at] - (i == 0 ? 0 : ends[at - 1]);
}

Index TokenSet::token_count() const {
  return features > 0 ? std::ssize(values) / features : std::ssize(tokens);
}

Index TokenSet::longest() const {
  Index most = 0;
  Index begin = 0;
  for (const Index end : ends) {
    most = std::max(most, end - begin);
    begin = end;
  }
  return most;
}

void check_tokens(const TokenSet& set, const std::string& who) {
  check_token_counts(set, who);
  Index begin = 0;
  for (Index i = 0; i < set.size(); ++i) {
    const Index end = set.ends[static_cast<std::size_t>(i)];
    require(end > begin && end - begin <= kLongestSequence && end <= set.token_count(),
            "{}: sequence {} goes from token {} to {}; it must have 1..{} of the {} tokens",
            who,
            i,
            begin,
            end,
            kLongestSequence,
            set.token_count());
    begin = end;
    for (const float value : set.feature_rows(i))
      require(std::isfinite(value), "{}: sequence {}: a feature is not finite", who, i);
    if (set.features > 0) {
      check_answer(set, i, who);
      continue;
    }
    for (const std::int32_t id : set.sequence(i)) {
      require(id >= 0 && id < set.vocabulary,
              "{}: sequence {}: token {} is outside 0..{}",
              who,
              i,
              id,
              set.vocabulary - 1);
    }
    check_answer(set, i, who);
  }
  require(begin == set.token_count(),
          "{}: {} tokens; the sequences have {}",
          who,
          set.token_count(),
          begin);
}

}  // namespace matapprox::tasks
