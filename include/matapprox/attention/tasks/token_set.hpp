#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "matapprox/attention/tasks/task.hpp"
#include "matapprox/core/options.hpp"
#include "matapprox/core/types.hpp"

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

/// Writes one HDF5 file (docs/data-files.md), which appears under its name only when complete.
/// Memory: the size of the compressed file. Throws InvalidArgument for a set that check_tokens
/// refuses or a name with a line end; FileError.
void write_token_file(const std::string& path, const TokenSet& set);

/// Reads a token file; every number is checked. Cost: two passes over the file, the first one as a
/// trial read (set_read_guard). Throws FileError naming the row (from 0), NotAvailable if memory
/// does not suffice.
TokenSet read_token_file(const std::string& path);

/// Role of the parts of a cross-validation.
enum class FoldRole {
  kTest,  ///< parts of all rows: each row is tested once
  /// Parts of the rows that are not for testing: one part decides when to stop, and all folds have
  /// the same test rows.
  kValidation
};

struct TokenFileOptions {
  std::string path;
  double validation_share = 0.1;  ///< share of training rows if the file has no validation rows
  double test_share = 0.1;        ///< share of training rows if the file has no test rows
  Index folds = 0;  ///< K of cross-validation, 2..1000, at most the number of rows; 0: none
  Index fold = 0;   ///< the fold that is left out, 0..folds-1
  FoldRole fold_role = FoldRole::kTest;
  std::uint64_t fold_seed = 1;  ///< seed of the division into folds
  Index length = 0;             ///< N to which sequences are padded; 0: the longest of the file
  bool undivided = false;       ///< every split is the whole file, for evaluation on another file
  void visit(OptionVisitor& v);
};

/// Creates a task from the sequences of a token file, padded with id 0 to the longest of them, each
/// with a class or a set of labels.
///
/// The rows selected by a share are the same for every seed; the order of the samples within a
/// split depends on the seed, because files are often sorted by class.
///
/// If `folds` = K, all rows of the file, independent of their split, are divided into K parts;
/// one is the test set, a share of the others the validation set. With the role kValidation, the
/// rows for training and validation are divided, one part is the validation set, and the test set
/// is that of a run without folds, as in [WKZL23, Sec. 4.2]. Parts are stratified: the numbers of
/// rows of a class in two parts differ by at most 1, and so do the sizes of the parts. They depend
/// only on fold_seed, so that each divided row is left out by exactly one of the K folds, for any
/// seed. Rows with equal sets of labels count as one class.
///
/// Baselines: the most frequent class in training, and the most frequent one for each first token;
/// for sets, the labels that most training rows have, and no labels. Throws FileError as
/// read_token_file does, and for a file with too few rows for three splits; InvalidArgument for a
/// missing path and options outside their range.
std::unique_ptr<Task> token_file_task(const TokenFileOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks

namespace matapprox {

template <>
struct EnumNames<tasks::FoldRole> {
  static constexpr std::array<std::string_view, 2> values{"test", "validation"};
};

}  // namespace matapprox
