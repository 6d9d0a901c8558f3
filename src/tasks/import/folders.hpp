#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text_input.hpp"
#include "matapprox/tasks/task.hpp"

// What importers ask of the file system. All throw FileError.
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

/// A regular file as it is; of a folder, the files with this extension whose names say train, val
/// (valid, validation, dev, eval) or test at the end of the stem, "basic_train.tsv". Throws if
/// there are none, or two of a kind.
std::vector<SplitFile> split_files(const std::string& path, std::string_view extension);

/// The content of a text file for one sequence. Throws if it is longer than kLargestText or more
/// than a thirtieth of it are control characters, which is not text. May be empty.
InputBytes read_text_file(const std::string& path);

}  // namespace matapprox::tasks
