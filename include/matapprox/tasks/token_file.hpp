#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "matapprox/core/options.hpp"
#include "matapprox/tasks/task.hpp"
#include "matapprox/tasks/token_set.hpp"

namespace matapprox::tasks {

/// Writes one HDF5 file (docs/data-files.md); it appears under its name only when complete. Memory:
/// the size of the compressed file. Throws InvalidArgument for a set that check_tokens refuses or a
/// name with a line end; FileError.
void write_token_file(const std::string& path, const TokenSet& set);

/// Reads it back; every number is checked. Cost: two passes over the file, the first of them in a
/// trial (set_read_guard). Throws FileError naming the row (from 0), NotAvailable if memory does
/// not suffice.
TokenSet read_token_file(const std::string& path);

/// What one part of a cross-validation is for.
enum class FoldRole {
  kTest,       ///< parts of all rows: each row is tested once
  kValidation  ///< parts of the rows that are not for the test: one says when to stop, one test for
               ///< all
};

}  // namespace matapprox::tasks

template <>
struct matapprox::EnumNames<matapprox::tasks::FoldRole> {
  static constexpr std::array<std::string_view, 2> values{"test", "validation"};
};

namespace matapprox::tasks {

struct TokenFileOptions {
  std::string path;
  double validation_share = 0.1;  ///< of the training rows, where the file has no validation rows
  double test_share = 0.1;        ///< of the training rows, where the file has no test rows
  Index folds = 0;                ///< K of cross-validation, 2..1000, at most the rows; 0: none
  Index fold = 0;                 ///< which of them is left out, 0..folds-1
  FoldRole fold_role = FoldRole::kTest;
  std::uint64_t fold_seed = 1;  ///< of the division into folds
  Index length = 0;             ///< N that sequences are padded to; 0: the longest of the file
  bool undivided = false;       ///< every split is the whole file: to evaluate on another file
  void visit(OptionVisitor& v);
};

/// The sequences of a token file, padded with id 0 to the longest of them, as samples with a class
/// or a set of labels.
///
/// The rows that a share takes are the same for every seed; the order of the samples within a split
/// depends on the seed, as files are often sorted by class.
///
/// With `folds` = K, all rows of the file, whatever their split, are divided into K parts; one is
/// the test, a share of the others the validation. With the role kValidation those for training and
/// validation are divided, one part is the validation, and the test is that of a run without folds,
/// as in [WKZL23, Sec. 4.2]. Parts are stratified: the numbers of rows of a class in two parts
/// differ by at most 1, and so do the sizes of the parts. They depend on fold_seed only, so that
/// each row that is divided is left out by one of the K folds, with any seed. Rows with equal sets
/// of labels count as of one class.
///
/// Baselines: the class that is most frequent in training, and that for each first token; of sets,
/// the labels that most training rows have, and no labels. Throws FileError as
/// read_token_file, and for a file with too few rows for three splits; InvalidArgument for a path
/// that is missing and options outside their range.
std::unique_ptr<Task> token_file_task(const TokenFileOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
