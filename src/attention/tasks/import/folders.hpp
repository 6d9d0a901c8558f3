#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_input.hpp"
#include "matapprox/attention/tasks/task.hpp"

// File system functions for importers. All throw FileError.
namespace matapprox::tasks {

/// Throws unless `path` is a folder.
void require_folder(const std::string& path);

/// Names of the folders, or of the regular files, in a folder, sorted by their bytes; names that
/// begin with a dot are left out.
std::vector<std::string> folders_in(const std::string& path);
std::vector<std::string> files_in(const std::string& path);

/// "folder/name".
std::string path_in(std::string_view folder, std::string_view name);

/// A file of a data set and the split that it belongs to; nothing if the set is not divided.
struct SplitFile {
  std::string path;
  std::optional<Split> split;
};

/// Returns a regular file itself; for a folder, the files with this extension whose stem ends with
/// train, val (valid, validation, dev, eval) or test, such as "basic_train.tsv". Throws if there
/// are none, or two for one split.
std::vector<SplitFile> split_files(const std::string& path, std::string_view extension);

/// The content of a text file for one sequence, which may be empty. Throws if it is longer than
/// kLargestText, or if more than a thirtieth of it is control characters and therefore not text.
InputBytes read_text_file(const std::string& path);

}  // namespace matapprox::tasks
