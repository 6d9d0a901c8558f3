#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "matapprox/core/types.hpp"
#include "matapprox/tasks/task.hpp"

namespace matapprox::tasks {

/// The longest sequence of a data set.
inline constexpr Index kLongestSequence = Index{1} << 24;
/// The most numbers of a token.
inline constexpr Index kMaxTokenFeatures = Index{1} << 20;

/// Sequences of tokens with a class or a set of labels each: a data set for classification, in
/// memory. Tokens are ids (4 bytes each) or vectors of features (4 bytes a number).
struct TokenSet {
  Index vocabulary = 0;              ///< ids are 0 .. vocabulary - 1; 0: tokens are features
  Index features = 0;                ///< numbers of a token; 0: tokens are ids
  Index classes = 0;                 ///< labels are 0 .. classes - 1
  std::string source;                ///< where it comes from, for people
  std::vector<std::int32_t> tokens;  ///< ids of all sequences, one after the other, or empty
  std::vector<float> values;         ///< features of all tokens, row-major, or empty
  std::vector<Index> ends;           ///< where sequence i ends; it starts where i - 1 ends
  std::vector<std::int32_t> labels;  ///< one a sequence; empty where targets are given
  /// n x classes, row-major: 1 where a sequence has a label, else 0; empty: a class each.
  std::vector<std::uint8_t> targets;
  std::vector<Split> splits;             ///< one a sequence; empty: not divided yet
  std::vector<std::string> token_names;  ///< one a token id; empty: not known
  std::vector<std::string> class_names;  ///< one a class; empty: not known

  bool has_label_sets() const { return !targets.empty(); }
  /// Of sequence i, one a class: has it the label?
  std::span<const std::uint8_t> target(Index i) const;
  Index size() const { return static_cast<Index>(ends.size()); }
  /// The ids of sequence i, from 0.
  std::span<const std::int32_t> sequence(Index i) const;
  /// The features of sequence i, tokens x features.
  std::span<const float> feature_rows(Index i) const;
  /// Tokens of sequence i.
  Index length(Index i) const;
  /// Tokens of all sequences.
  Index token_count() const;
  /// The length of the longest sequence; 0 if there is none.
  Index longest() const;
};

/// Throws InvalidArgument unless there are sequences of 1..kLongestSequence tokens each, either ids
/// or finite features, ids and labels within their ranges, either labels or targets, and splits and
/// names as many as there must be; the message begins with `who` and names the sequence, from 0.
void check_tokens(const TokenSet& set, const std::string& who);

}  // namespace matapprox::tasks
