#pragma once

#include <cstdint>
#include <memory>
#include <string>

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

struct TokenFileOptions {
  std::string path;
  double validation_share = 0.1;  ///< of the training rows, where the file has no validation rows
  double test_share = 0.1;        ///< of the training rows, where the file has no test rows
  void visit(OptionVisitor& v);
};

/// The sequences of a token file, padded with id 0 to the longest of them, as samples with a class.
///
/// The rows that a share takes are the same for every seed; the order of the samples within a split
/// depends on the seed, as files are often sorted by class. Baselines: the class that is most
/// frequent in training, and that for each first token. Throws FileError as read_token_file, and
/// for a file with too few rows for three splits; InvalidArgument for a path that is missing or a
/// share outside 0..0.5.
std::unique_ptr<Task> token_file_task(const TokenFileOptions& options, std::uint64_t seed);

}  // namespace matapprox::tasks
