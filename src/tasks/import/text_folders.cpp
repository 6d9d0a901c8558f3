#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/text_place.hpp"
#include "tasks/import/folders.hpp"
#include "tasks/import/importers.hpp"

// Data sets with a folder a class and a text a file: IMDb and 20 newsgroups.
namespace matapprox::tasks {
namespace {

/// Adds the files of a folder as texts of one class.
void add_text_folder(const std::string& folder,
                     std::string_view extension,
                     Index label,
                     std::optional<Split> split,
                     TokenBuilder& builder) {
  Index found = 0;
  for (const std::string& name : files_in(folder)) {
    if (!name.ends_with(extension)) continue;
    ++found;
    const std::string path = path_in(folder, name);
    const InputBytes text = read_text_file(path);
    if (text.size() == 0) {
      if (builder.options().skip_empty) continue;
      fail_in(path, "the file is empty; skip_empty leaves such files out");
    }
    builder.add_text(text, label, split, path);
  }
  if (found == 0) fail_in(folder, fmt::format("there is no file *{} in the folder", extension));
}

/// Adds the classes of a folder; each of its folders must be one of them.
void add_class_folders(const std::string& folder,
                       const std::vector<std::string>& classes,
                       std::optional<Split> split,
                       TokenBuilder& builder) {
  for (const std::string& name : folders_in(folder)) {
    const auto found = std::lower_bound(classes.begin(), classes.end(), name);
    if (found == classes.end() || *found != name) {
      fail_in(folder, fmt::format("the class '{}' does not occur in training", name));
    }
    add_text_folder(path_in(folder, name), "", found - classes.begin(), split, builder);
  }
}

/// The only one of these names that ends with `end`, or nothing.
std::string only_name_with(const std::vector<std::string>& names,
                           std::string_view end,
                           const std::string& path) {
  std::string found;
  for (const std::string& name : names) {
    if (!name.ends_with(end)) continue;
    if (!found.empty()) fail_in(path, fmt::format("both '{}' and '{}' are {}", found, name, end));
    found = name;
  }
  return found;
}

}  // namespace

TokenSet import_imdb(const std::string& path, const ImportOptions& options) {
  TokenBuilder builder(options, path, text_tokenizer(options), 2);
  builder.set().class_names = {"neg", "pos"};
  for (const auto& [folder, split] :
       {std::pair("/train/", Split::kTrain), std::pair("/test/", Split::kTest)}) {
    add_text_folder(path + folder + "neg", ".txt", 0, split, builder);
    add_text_folder(path + folder + "pos", ".txt", 1, split, builder);
  }
  return builder.finish();
}

TokenSet import_newsgroups(const std::string& path, const ImportOptions& options) {
  const std::vector<std::string> folders = folders_in(path);
  const std::string train = only_name_with(folders, "train", path);
  const std::string test = only_name_with(folders, "test", path);
  if (train.empty() != test.empty()) {
    fail_in(path, "of the folders *train and *test, one is missing");
  }
  const bool divided = !train.empty();
  const std::vector<std::string> classes = divided ? folders_in(path_in(path, train)) : folders;
  if (classes.empty()) fail_in(path, "there are no folders, one a class is expected");
  TokenBuilder builder(options, path, text_tokenizer(options), std::ssize(classes));
  builder.set().class_names = classes;
  if (divided) {
    add_class_folders(path_in(path, train), classes, Split::kTrain, builder);
    add_class_folders(path_in(path, test), classes, Split::kTest, builder);
  } else {
    add_class_folders(path, classes, std::nullopt, builder);
  }
  return builder.finish();
}

}  // namespace matapprox::tasks
