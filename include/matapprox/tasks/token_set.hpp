#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

/// Maximum length of a sequence in a data set.
inline constexpr Index kLongestSequence = Index{1} << 24;
/// Maximum number of features of a token.
inline constexpr Index kMaxTokenFeatures = Index{1} << 20;

/// Sequences of tokens with a class or a set of labels each: a data set for classification, in
/// memory. Tokens are ids (4 bytes each) or vectors of features (4 bytes per number).
struct TokenSet {
  Index vocabulary = 0;              ///< ids are 0 .. vocabulary - 1; 0: tokens are features
  Index features = 0;                ///< numbers of a token; 0: tokens are ids
  Index classes = 0;                 ///< labels are 0 .. classes - 1
  std::string source;                ///< origin of the data, for people
  std::vector<std::int32_t> tokens;  ///< ids of all sequences, one after the other, or empty
  std::vector<float> values;         ///< features of all tokens, row-major, or empty
  std::vector<Index> ends;  ///< end of sequence i, which starts at the end of sequence i - 1
  std::vector<std::int32_t> labels;  ///< one per sequence; empty if targets are given
  /// n x classes, row-major: 1 if a sequence has a label, else 0. Empty: one class per sequence.
  std::vector<std::uint8_t> targets;
  std::vector<Split> splits;             ///< one per sequence; empty: not divided yet
  std::vector<std::string> token_names;  ///< one per token id; empty: unknown
  std::vector<std::string> class_names;  ///< one per class; empty: unknown

  bool has_label_sets() const { return !targets.empty(); }
  /// Flags of sequence i, one per class: 1 if it has the label.
  std::span<const std::uint8_t> target(Index i) const;
  Index size() const { return static_cast<Index>(ends.size()); }
  /// The ids of sequence i, from 0.
  std::span<const std::int32_t> sequence(Index i) const;
  /// The features of sequence i, tokens x features.
  std::span<const float> feature_rows(Index i) const;
  /// Number of tokens of sequence i.
  Index length(Index i) const;
  /// Number of tokens of all sequences.
  Index token_count() const;
  /// The length of the longest sequence; 0 if there is none.
  Index longest() const;
};

/// Throws InvalidArgument unless there are sequences of 1..kLongestSequence tokens each, either ids
/// or finite features, ids and labels within their ranges, either labels or targets, and the right
/// numbers of splits and names. The message begins with `who` and names the sequence, from 0.
void check_tokens(const TokenSet& set, const std::string& who);

}  // namespace matapprox::tasks
